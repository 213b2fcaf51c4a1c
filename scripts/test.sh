#!/usr/bin/env bash
# Runs the tests of one tier with bloomline.so, which `make build` makes; the quick tier calls it.
#
#   scripts/test.sh quick         the core, the module on three servers, the docs, one client library
#   scripts/test.sh again N LOAD  the server tests of the quick tier, N times, with a number of busy
#                                 loops beside them; lists every test that ever failed
#   scripts/test.sh rest          all other tests in Rust: the other servers, installation, the
#                                 calculator, the module's unit tests, examples in the documentation
#                                 of the code, one round of each bench
#
# The three servers are the oldest Redis, the newest Redis, with a debug allocator in the module, and
# the newest Valkey: tests/harness/src/kinds.rs chooses them among those of .servers. Tests of
# clusters and of faults run on the newest Redis only. `make test` is the quick tier; `make test-all`
# runs both, and the tests of client libraries.
set -euo pipefail
cd "$(dirname "$0")/.."
tier=$1

quick_servers=(redis-6.2 redis-8.2 valkey-9)
# Some tests run on no other server than the newest Redis, so it has the debug allocator.
audited=redis-8.2
quick_tests=(families bloom cuckoo memory out_of_memory layering server docs clients)
# Those that run on servers: the rest runs them again, on the other ones.
on_servers=(server docs clients)

# cargo_with COMMAND ARGUMENTS...: a command for the workspace. The features are always the same, so
# that nothing is compiled twice.
cargo_with() {
    local command=$1
    shift
    cargo "$command" --locked --workspace --features audit "$@"
}

run() {
    cargo_with test "${excluded[@]}" "$@"
}
excluded=() examples=(--examples)
if [ "$tier" != rest ]; then
    # Unit tests of the core only. The module would be compiled a third time for its own, and the
    # calculator's need an interpreter of WebAssembly. The others have none.
    excluded=(--exclude bloomline)
    for package in calculator harness reference; do
        excluded+=(--exclude "bloomline-$package")
    done
    examples=(--example panicking)
fi

# build TARGETS...: builds targets of the workspace for the tests, all at once, and examples, of which
# the tests of a panic load one and the server bench another.
build() {
    run --no-run "$@"
    cargo_with build --profile test "${examples[@]}"
}

# other_tests: prints all test targets but those of the quick tier.
other_tests() {
    cargo metadata --locked --no-deps --format-version 1 | python3 -c '
import json, sys
targets = [t for p in json.load(sys.stdin)["packages"] for t in p["targets"] if "test" in t["kind"]]
print(*sorted({t["name"] for t in targets} - set(sys.argv[1:])))' "${quick_tests[@]}"
}

# build_quick: installs the three servers and a client library, and builds what the quick tier runs.
build_quick() {
    # Most of the release build keeps one core busy only, and fetching waits for the network, so the
    # tests are compiled beside them.
    make --no-print-directory build &
    local release=$!
    { scripts/servers.sh "${quick_servers[@]}" && scripts/venv.sh; } &
    local fetched=$!
    # shellcheck disable=SC2064 # the processes of now
    trap "kill $release $fetched 2>/dev/null || true" EXIT
    build --lib "${quick_tests[@]/#/--test=}"
    wait "$fetched"
    audited_module=$(realpath "${CARGO_TARGET_DIR:-target}/debug/deps/libbloomline.so")
    # Builds with other features write the same file.
    grep -qa 'ledger: allocation at' "$audited_module" || {
        touch src/lib.rs
        build --lib "${quick_tests[@]/#/--test=}"
    }
    wait "$release"
    trap - EXIT
}

# run_quick ARGUMENTS...: runs tests on the three servers.
run_quick() {
    # The server tests wait for their servers for a third of the time.
    BLOOMLINE_TIER=quick BLOOMLINE_AUDITED=$audited BLOOMLINE_AUDIT_SO=$audited_module \
        RUST_TEST_THREADS=$((2 * $(nproc))) run "$@"
}

case $tier in
quick)
    start=$SECONDS
    # Takes seconds, and fails for a long line or an import of another folder.
    run --test=layering
    build_quick
    run_quick --lib "${quick_tests[@]/#/--test=}"
    BLOOMLINE_TIER=quick .venv/bin/pytest -q tests/clients/test_redis_py.py \
        tests/clients/test_redis_py_cuckoo.py
    others=$(scripts/servers.sh --list | grep -vxF -e redis-newest "${quick_servers[@]/#/-e}" |
        paste -sd ' ')
    fold -s -w 94 <<SUMMARY | sed 's/^/test: /'
passed in $((SECONDS - start)) s on ${quick_servers[*]}, with redis-py and redis-rs.
Not run: $others; clusters and faults on other servers than the newest Redis; other client libraries; installation; the calculator; the module's unit tests; one round of each bench (make test-all); other platforms (make test-platforms); sanitizer, valgrind (make deep).
SUMMARY
    ;;
again)
    runs=${2:?"the number of runs"} load=${3:-0}
    build_quick
    # One file for each run, until the next call.
    logs=${CARGO_TARGET_DIR:-target}/again
    rm -rf "$logs" && mkdir -p "$logs"
    trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
    for ((i = 0; i < load; i++)); do
        while :; do :; done &
    done
    echo "test: $runs runs on ${quick_servers[*]}, $load busy loops beside them"
    for ((i = 1; i <= runs; i++)); do
        start=$SECONDS
        run_quick --no-fail-fast "${on_servers[@]/#/--test=}" >"$logs/$i" 2>&1 || true
        # Other lines may stand within those of single tests, which are printed in two parts.
        passed=$(awk '/^test result: / { sum += $4 } END { print sum + 0 }' "$logs/$i")
        failed=$(sed -n 's/^---- \(.*\) stdout ----$/\1/p' "$logs/$i" | paste -sd ' ')
        # A target may end without results: by a signal, or by a failed build.
        [[ -n $failed ]] || failed=$(grep -m 1 '^error' "$logs/$i" || true)
        printf 'test: run %d: %d s, %d passed; failed: %s\n' \
            "$i" $((SECONDS - start)) "$passed" "${failed:-none}"
        [[ -z $failed ]] || red+=" $logs/$i"
    done
    [[ -z ${red:-} ]] || { echo "test: see$red" >&2 && exit 1; }
    ;;
rest)
    scripts/deps.sh test install
    read -ra others <<<"$(other_tests)"
    build --lib "${on_servers[@]/#/--test=}" "${others[@]/#/--test=}"
    BLOOMLINE_TIER=rest run "${on_servers[@]/#/--test=}"
    run --lib "${others[@]/#/--test=}"
    run --doc
    # One round of each bench, with few items, to see that it works.
    run --bench core --bench server
    ;;
*)
    echo "test: unknown tier '$tier'; the tiers are quick, again and rest" >&2
    exit 2
    ;;
esac
