#!/usr/bin/env bash
# Runs cargo for a platform, so that what is built does not depend on the folders of this machine.
#
#   scripts/cargo-for.sh TARGET COMMAND [ARGUMENT]...
#
#   scripts/cargo-for.sh aarch64-unknown-linux-gnu build --release --lib
#
# TARGET is a name of Rust's:
#   x86_64-unknown-linux-gnu     x86-64 with glibc
#   aarch64-unknown-linux-gnu    64-bit ARM with glibc
#   x86_64-unknown-linux-musl    x86-64 with musl (Alpine)
#
# `scripts/deps.sh cross` installs the compilers and headers. Rust's library for the target is
# installed by rustup, or comes with the Rust of the system.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$1 command=$2
shift 2
target_dir=$(realpath -m "${CARGO_TARGET_DIR:-target}")

# bindgen reads redismodule.h with the headers of the target's C library.
case $target in
"$(rustc -vV | sed -n 's/^host: //p')") compiler=cc clang= ;;
aarch64-unknown-linux-gnu | x86_64-unknown-linux-gnu)
    machine=${target%%-*}-linux-gnu
    compiler=$machine-gcc
    clang="--target=$machine -isystem /usr/$machine/include"
    ;;
x86_64-unknown-linux-musl)
    compiler=musl-gcc
    # clang looks for its own headers only if the target has a GNU C library. The types that the
    # header uses are the same.
    clang="--target=x86_64-linux-gnu -isystem /usr/include/x86_64-linux-musl"
    ;;
*)
    echo "cargo-for: unknown target '$target'" >&2
    exit 2
    ;;
esac

if ! command -v "$compiler" >/dev/null; then
    echo "cargo-for: $target needs $compiler; run \`scripts/deps.sh cross\`" >&2
    exit 1
fi
libraries=$(rustc --print sysroot)/lib/rustlib/$target/lib
if [ ! -d "$libraries" ] && ! rustup target add "$target" >&2; then
    echo "cargo-for: Rust's library for $target is missing" >&2
    exit 1
fi

# Paths in messages of panics and in debugging information.
flags=("--remap-path-prefix=$PWD=/bloomline" "--remap-path-prefix=$target_dir=/bloomline/target")
c_flags=("-ffile-prefix-map=$PWD=/bloomline" "-ffile-prefix-map=$target_dir=/bloomline/target")
for crates in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*; do
    flags+=("--remap-path-prefix=$crates=/crates")
    c_flags+=("-ffile-prefix-map=$crates=/crates")
done

if [ "$target" = x86_64-unknown-linux-musl ]; then
    # A module is loaded by a server, which has the C library already. The unwinder is the one that
    # Rust brings along, inside the module: an image of Alpine need not have libgcc_s.so.1, which
    # Rust names otherwise.
    mkdir -p "$target_dir/$target/unwinder"
    echo "INPUT($libraries/self-contained/libunwind.a)" >"$target_dir/$target/unwinder/libgcc_s.so"
    flags+=(-Ctarget-feature=-crt-static "-Lnative=$target_dir/$target/unwinder")
fi

name=${target//-/_}
export "CC_$name=$compiler" "CFLAGS_$name=${c_flags[*]}" "BINDGEN_EXTRA_CLANG_ARGS_$name=$clang"
name=${name^^}
export "CARGO_TARGET_${name}_LINKER=$compiler" "CARGO_TARGET_${name}_RUSTFLAGS=${flags[*]}"
# It would replace the flags above.
unset RUSTFLAGS
exec cargo "$command" --locked --target "$target" "$@"
