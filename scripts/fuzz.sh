#!/usr/bin/env bash
# Fuzzes one target for a number of seconds, with new random input on every run.
#
#   scripts/fuzz.sh decode|model|values|valkey SECONDS
#
# libFuzzer with AddressSanitizer, by cargo-fuzz, from core/fuzz/seeds. Input with new coverage is
# kept in core/fuzz/corpus, failing input in core/fuzz/artifacts.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$1 seconds=$2

case $target in
decode | model | values | valkey)
    scripts/deps.sh build fuzz
    # The sanitizer needs unstable features: of a nightly compiler, or of a stable one with
    # RUSTC_BOOTSTRAP.
    toolchain=()
    if rustup toolchain list 2>/dev/null | grep '^nightly' >/dev/null; then
        toolchain=(+nightly)
    else
        export RUSTC_BOOTSTRAP=1
    fi
    mkdir -p "core/fuzz/corpus/$target"
    cargo "${toolchain[@]}" fuzz run --no-trace-compares --fuzz-dir core/fuzz "$target" \
        "core/fuzz/corpus/$target" "core/fuzz/seeds/$target" -- \
        -max_total_time="$seconds" -max_len=2048 -len_control=20 \
        -timeout=120 -rss_limit_mb=1024 -malloc_limit_mb=64 -print_final_stats=1
    ;;
*)
    echo "fuzz: unknown target '$target'; the targets are decode, model, values and valkey" >&2
    exit 2
    ;;
esac
