#!/usr/bin/env bash
# bench-beside.sh COMMIT [OPTION...]: measures the module beside that of a commit, which is built
# once, and prints how many times as long this one takes, row by row.
set -euo pipefail
cd "$(dirname "$0")/.."
commit=$(git rev-parse --verify "$1^{commit}")
shift
builds=${CARGO_TARGET_DIR:-target}/beside
mkdir -p "$builds" dist
builds=$(realpath "$builds")
before=$builds/$commit.so
if [ ! -f "$before" ]; then
    sources=$(mktemp -d)
    trap 'rm -rf "$sources"' EXIT
    git archive "$commit" | tar -x -C "$sources"
    (cd "$sources" && CARGO_TARGET_DIR=$builds/target cargo build --release --locked --lib)
    cp "$builds/target/release/libbloomline.so" "$before"
fi
cargo bench --locked --bench server -- --before "$before" --json "$PWD/dist/beside.json" "$@"
python3 benches/published/beside.py dist/beside.json
