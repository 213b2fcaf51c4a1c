#!/usr/bin/env bash
# Runs the server tests with the module of the test build (feature audit). Its allocator keeps a
# ledger, which checks every allocation that is freed and every range of pages that is returned.
#
#   scripts/audit.sh SERVER [FILTER]...
#
# SERVER is a name of `scripts/servers.sh --list`.
set -euo pipefail
cd "$(dirname "$0")/.."
server=$1
shift

# The tests have built most of it already in their profile.
cargo build --locked --features audit --profile test --lib
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
ln -s "$(realpath "$(scripts/servers.sh --where "$server")")" "$home/$server"
module=$(realpath "${CARGO_TARGET_DIR:-target}/debug/libbloomline.so")
BLOOMLINE_REQUIRED_SERVERS=$server BLOOMLINE_SERVERS=$home BLOOMLINE_SO=$module \
    cargo test --locked --features audit --test server -- "$@"
