#!/usr/bin/env bash
# Builds the wheels of the Python package in DIST (dist/): the pure one, and for each TARGET the one
# with the module and the program of `bloomline plan`.
#
#   scripts/wheel.sh [TARGET]...
#
#   scripts/wheel.sh x86_64-unknown-linux-gnu
#
# The targets need glibc 2.28, as manylinux_2_28 says: scripts/cargo-for.sh builds for that version.
# Without a target the wheel is built with BLOOMLINE_SO and BLOOMLINE_PLAN if both are set, under
# the tag of this machine, for tests.
set -euo pipefail
cd "$(dirname "$0")/.."
target_dir=$(realpath -m "${CARGO_TARGET_DIR:-target}")
dist=${DIST:-dist}
mkdir -p "$dist"
dist=$(realpath "$dist")
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH

scripts/venv.sh wheel
# The prefix of tools for the files of another architecture.
binutils=
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# wheel [PLATFORM MODULE PLAN]: builds one wheel.
wheel() {
    if [ $# -gt 0 ]; then
        # Keeps the names of functions, as packages of other kinds do.
        "${binutils}objcopy" --strip-debug "$2" "$work/bloomline.so"
        "${binutils}objcopy" --strip-all "$3" "$work/bloomline-plan"
        # A server refuses a module that it may not execute.
        chmod 755 "$work"/bloomline*
        export BLOOMLINE_WHEEL_PLATFORM=$1
        export BLOOMLINE_WHEEL_MODULE=$work/bloomline.so BLOOMLINE_WHEEL_PLAN=$work/bloomline-plan
    fi
    .venv-wheel/bin/python -m build --wheel --no-isolation --outdir "$dist" python
}

for target in "$@"; do
    machine=${target%%-*}
    scripts/cargo-for.sh "$target" build --release --lib
    scripts/cargo-for.sh "$target" build --release -p bloomline-tools --bin plan
    built=$target_dir/$target/release
    binutils=
    [ "$machine" = "$(uname -m)" ] || binutils=$machine-linux-gnu-
    (wheel "manylinux_2_28_$machine" "$built/libbloomline.so" "$built/plan")
done
if [ $# -eq 0 ] && [ -n "${BLOOMLINE_SO:-}" ] && [ -n "${BLOOMLINE_PLAN:-}" ]; then
    (wheel "linux_$(uname -m)" "$BLOOMLINE_SO" "$BLOOMLINE_PLAN")
fi
(wheel)
