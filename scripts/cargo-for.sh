#!/usr/bin/env bash
# Runs cargo for a platform, so that what is built does not depend on this machine: neither on its
# folders nor on its C library.
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
# With glibc the result needs version 2.28 (RHEL 8, Debian 10) or newer, whatever this machine has:
# Zig brings the symbols of that version and links with them. `scripts/deps.sh TARGET` installs what
# this needs. Rust's library for the target is installed by rustup, or comes with the Rust of the
# system.
set -euo pipefail
cd "$(dirname "$0")/.."

# tests/install/machine_code.rs and docs/how-to/install.md have this version too.
oldest_glibc=2.28

target=$1 command=$2
shift 2
target_dir=$(realpath -m "${CARGO_TARGET_DIR:-target}")

case $target in
aarch64-unknown-linux-gnu | x86_64-unknown-linux-gnu)
    # The pinned versions of Zig and of cargo-zigbuild. This sets the linker, the compiler of C, and
    # the headers that bindgen reads redismodule.h with.
    scripts/venv.sh zig >&2
    export PATH=$PWD/.venv-zig/bin:$PATH
    export ZIG_GLOBAL_CACHE_DIR=$target_dir/zig CARGO_ZIGBUILD_CACHE_DIR=$target_dir/zig
    [ "$command" != build ] || command=zigbuild
    cargo=cargo-zigbuild versioned=$target.$oldest_glibc
    ;;
x86_64-unknown-linux-musl)
    cargo=cargo versioned=$target
    if ! command -v musl-gcc >/dev/null; then
        echo "cargo-for: $target needs musl-gcc; run \`scripts/deps.sh $target\`" >&2
        exit 1
    fi
    export CC_x86_64_unknown_linux_musl=musl-gcc CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_LINKER=musl-gcc
    # bindgen reads redismodule.h with the headers of the target's C library. clang looks for its own
    # headers only if the target has a GNU C library. The types that the header uses are the same.
    export BINDGEN_EXTRA_CLANG_ARGS_x86_64_unknown_linux_musl="--target=x86_64-linux-gnu \
-isystem /usr/include/x86_64-linux-musl"
    ;;
*)
    echo "cargo-for: unknown target '$target'" >&2
    exit 2
    ;;
esac

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
export "CFLAGS_$name=${c_flags[*]}" "CARGO_TARGET_${name^^}_RUSTFLAGS=${flags[*]}"
# It would replace the flags above.
unset RUSTFLAGS
# Zig names its headers relative to the current folder if they are below it, and bindgen runs in
# another one. They are not below the target folder. Zig also compiles parts of libunwind and of glibc
# when it links; this value of PWD keeps the name of that folder out of their debugging information.
manifest=$PWD/Cargo.toml
mkdir -p "$target_dir"
cd "$target_dir"
exec env PWD=/proc/self/cwd CARGO_TARGET_DIR="$target_dir" "$cargo" "$command" --locked \
    --manifest-path "$manifest" --target "$versioned" "$@"
