#!/usr/bin/env bash
# Checks that take long or need rare tools: fuzzing, many lives, AddressSanitizer, valgrind,
# Miri, licences and advisories of dependencies.
#
#   scripts/deep.sh [SECONDS [PART]...]
#
# SECONDS is the time of fuzzing for each target; BLOOMLINE_LIVES multiplies the lives. The parts are fuzzing, lives,
# address_sanitizer, valgrind_run, miri and dependencies; without a part all of them run. The script
# fails if a check fails. A check that is skipped because a tool is missing is reported at once and
# again at the end.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
seconds=${1:-60}
parts=("${@:2}")
[ ${#parts[@]} -gt 0 ] ||
    parts=(fuzzing lives address_sanitizer valgrind_run miri dependencies)
export BLOOMLINE_SERVERS=${BLOOMLINE_SERVERS:-$PWD/.servers}
servers=$BLOOMLINE_SERVERS
target_dir=${CARGO_TARGET_DIR:-$PWD/target}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=() missing=()

step() {
    local name=$1
    shift
    echo "=== deep: $name"
    "$@" || failed+=("$name")
}

# not_run NAME WHY: reports a check whose tool is not available.
not_run() {
    echo "=== deep: NOT RUN: $1: $2" >&2
    missing+=("$1: $2")
}

# under NAME KIND COMMAND...: creates a folder of servers with one server, which a command starts.
under() {
    local home=$folder/$1 kind=$2
    shift 2
    mkdir -p "$home/$kind"
    printf '#!/bin/sh\nexec %s "$@"\n' "$*" >"$home/$kind/server"
    ln -sf "$servers/$kind/cli" "$home/$kind/cli"
    chmod 755 "$home/$kind/server"
}

# on NAME COMMAND...: runs the command with the servers of that folder, which are slow.
on() {
    local home=$folder/$1
    shift
    BLOOMLINE_REQUIRED_SERVERS='' BLOOMLINE_SERVERS=$home "$@"
}

fuzzing() {
    if scripts/deps.sh fuzz; then
        for target in decode model values valkey; do
            step "fuzz $target" scripts/fuzz.sh "$target" "$seconds"
        done
    else
        not_run "fuzz decode, model, values, valkey" "cargo-fuzz is missing"
    fi
}

# Random lives of filters of all kinds, for some minutes: in the process, in servers, and random calls
# to RedisBloom and Bloomline.
lives() {
    export BLOOMLINE_SEED=${BLOOMLINE_SEED:-1000}
    step "the lives of filters" env BLOOMLINE_LIVES="${BLOOMLINE_LIVES:-20}" \
        cargo test --locked -p bloomline-core --test families -- life::
    step "the lives of filters in servers, and RedisBloom" \
        env BLOOMLINE_LIVES="${BLOOMLINE_LIVES:-5}" BLOOMLINE_TIER=quick \
        cargo test --locked --features audit --test server -- life:: redisbloom_live::random
}

# The module with AddressSanitizer. The server must preload the sanitizer's runtime, which sees only
# allocations of libc's allocator.
address_sanitizer() {
    local runtime so=$folder/asan.so host
    runtime=$(find /usr/lib/llvm-*/lib/clang -name 'libclang_rt.asan-x86_64.so' 2>/dev/null |
        sort -V | tail -n 1)
    if [ -z "$runtime" ]; then
        not_run "AddressSanitizer" "no libclang_rt.asan (Debian: libclang-rt-14-dev)"
        return
    fi
    host=$(rustc -vV | sed -n 's/^host: //p')
    RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address CARGO_PROFILE_RELEASE_LTO=off \
        cargo build --release --locked --lib --target "$host" --target-dir "$target_dir/asan" ||
        { failed+=("building with AddressSanitizer"); return; }
    cp "$target_dir/asan/$host/release/libbloomline.so" "$so"
    # At exit the server has not freed its memory, so leaks are not reported. A finding stops the
    # server with a report.
    local options=detect_leaks=0:abort_on_error=1:allocator_may_return_null=1
    options+=:detect_odr_violation=0
    under asan redis-6.2 "env ASAN_OPTIONS=$options LD_PRELOAD=$runtime $(program redis-6.2)"
    step "the lives of filters with AddressSanitizer" \
        on asan env BLOOMLINE_SO="$so" \
        cargo test --locked --features audit --test server -- life::filters_in_servers
    # hostile::sizes sends arguments of half a gigabyte: eight minutes under the sanitizer, which
    # keeps freed memory, so that a test of resident memory says nothing.
    step "entry points with AddressSanitizer" \
        on asan env BLOOMLINE_SO="$so" \
        cargo test --locked --features audit --test server -- \
        entry_points::persistence hostile --skip hostile::sizes --skip take_little_memory
}

# program KIND: prints the command that starts a server without the shell of its wrapper, so that a
# tool examines the server only.
program() {
    local lib=$servers/$1/lib
    if [ -e "$lib/ld.so" ]; then
        echo "$lib/ld.so --library-path $lib $(find "$servers/$1/bin" -name '*-server')"
    else
        find "$servers/$1/bin" -name '*-server'
    fi
}

valgrind_run() {
    command -v valgrind >/dev/null ||
        { not_run "valgrind" "not installed (Debian: valgrind)"; return; }
    local log=$folder/valgrind.log
    under valgrind redis-7.0 \
        "valgrind --error-exitcode=99 --exit-on-first-error=yes --log-file=$log.%p" \
        "--soname-synonyms=somalloc=*jemalloc* --undef-value-errors=no $(program redis-7.0)"
    step "the lives of filters under valgrind" on valgrind \
        cargo test --locked --features audit --test server -- life::filters_in_servers
    if grep -h -A 12 -E 'Invalid (read|write|free)' "$log".* 2>/dev/null; then
        failed+=("valgrind: an invalid access")
    fi
}

miri() {
    cargo +nightly miri --version >/dev/null 2>&1 ||
        { not_run "Miri" "rustup component add --toolchain nightly miri rust-src"; return; }
    # Only the core: Miri does not have a server's allocator. Miri takes a thousand times as long,
    # so there are few inputs.
    step "the core under Miri" env MIRIFLAGS="-Zmiri-tree-borrows -Zmiri-permissive-provenance" \
        cargo +nightly miri test --locked -p bloomline-core --target-dir "$target_dir/miri" \
        --test families -- fuzz:: life::filters_of_all_kinds words::
}

# The rules of deny.toml. Licences and sources follow from Cargo.lock; advisories change daily, so
# they are fetched.
dependencies() {
    scripts/deps.sh deny || { not_run "dependencies" "cargo-deny is missing"; return; }
    step "licences and sources" cargo deny --offline check licenses bans sources
    timeout 120 cargo deny fetch db ||
        { not_run "advisories" "their database cannot be reached"; return; }
    step "advisories" cargo deny --offline check advisories
}

for part in "${parts[@]}"; do "$part"; done

echo
for name in "${missing[@]}"; do echo "deep: NOT RUN: $name"; done
for name in "${failed[@]}"; do echo "deep: FAILED: $name"; done
[ ${#failed[@]} -eq 0 ] && echo "deep: all checks that ran have passed"
