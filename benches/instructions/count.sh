#!/usr/bin/env bash
# Prints the instructions per item of the core on arm64, with NEON and with the scalar backend,
# counted under qemu. Nothing is timed, so the load of the machine does not matter.
set -euo pipefail
cd "$(dirname "$0")/../.."
target=aarch64-unknown-linux-gnu
target_dir=$(realpath -m "${CARGO_TARGET_DIR:-target}")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
operations="hits misses misses-of-8-layers duplicates single-hits single-duplicates"

scripts/deps.sh build cross
cc -shared -fPIC -O2 -o "$folder/count.so" benches/instructions/count.c
for backend in neon scalar; do
    features=()
    [ $backend = neon ] || features=(--features scalar)
    scripts/cargo-for.sh $target build --release -p bloomline-core --example operations \
        "${features[@]}"
    cp "$target_dir/$target/release/examples/operations" "$folder/$backend"
done

# count PROGRAM OPERATION ROUNDS: prints the number of instructions.
count() {
    { qemu-aarch64 -L /usr/aarch64-linux-gnu -plugin "$folder/count.so" -d plugin \
        "$@" >/dev/null; } 2>&1
}

declare -A counted
printf '%-20s %8s %8s %6s\n' "instructions/item" NEON scalar ratio
for operation in $operations; do
    for backend in neon scalar; do
        # What both runs have in common, such as filling the filter, is not counted.
        few=$(count "$folder/$backend" "$operation" 10)
        many=$(count "$folder/$backend" "$operation" 110)
        counted[$backend]=$(((many - few) / 100))
    done
    awk -v name="$operation" -v neon="${counted[neon]}" -v scalar="${counted[scalar]}" 'BEGIN {
        printf "%-20s %8.1f %8.1f %6.2f\n", name, neon / 1000, scalar / 1000, neon / scalar }'
done
