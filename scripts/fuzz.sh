#!/usr/bin/env bash
# Fuzzes one target for some seconds with other input than the last time.
#
#   scripts/fuzz.sh decode|model|resp|dump SECONDS
#
# decode and model: libFuzzer with AddressSanitizer, by cargo-fuzz, from fuzz/seeds; what is found new stays in
# fuzz/corpus, failing input in fuzz/artifacts. resp and dump: tests/fuzz against the newest Redis and Valkey.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$1 seconds=$2

case $target in
decode | model)
    scripts/deps.sh build fuzz
    # The sanitizer needs an unstable compiler: a nightly one, or a stable one that is told to be.
    toolchain=()
    if rustup toolchain list 2>/dev/null | grep -q '^nightly'; then
        toolchain=(+nightly)
    else
        export RUSTC_BOOTSTRAP=1
    fi
    mkdir -p "fuzz/corpus/$target"
    cargo "${toolchain[@]}" fuzz run --no-trace-compares --fuzz-dir fuzz "$target" "fuzz/corpus/$target" "fuzz/seeds/$target" -- \
        -max_total_time="$seconds" -max_len=2048 -len_control=20 \
        -timeout=120 -rss_limit_mb=1024 -malloc_limit_mb=64 -print_final_stats=1
    ;;
resp | dump)
    FUZZ_SECONDS=$seconds cargo test --locked --features audit --test fuzz -- "$target"
    ;;
*)
    echo "fuzz: unknown target '$target'; decode, model, resp and dump are known" >&2
    exit 2
    ;;
esac
