#!/usr/bin/env bash
# Tests the Python package as users get it: wheels that are installed in virtual environments. The
# tests run on the newest Redis and Valkey with the wheel that has the module, and on the RedisBloom
# of redis-7.4. Every version of Python from 3.9 on that this machine has installs it from nothing
# and makes a first call. The pure wheel must name what it lacks.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${BLOOMLINE_SO:?names the module}" "${BLOOMLINE_PLAN:?names the program of make plan}"
servers=$(realpath "${BLOOMLINE_SERVERS:-.servers}")

DIST=$(mktemp -d)
export DIST
trap 'rm -rf "$DIST"' EXIT
scripts/wheel.sh
scripts/venv.sh python
install() {
    .venv-python/bin/python -m pip install --quiet --disable-pip-version-check --no-deps \
        --force-reinstall "$@"
}

install "$DIST"/bloomline-*-linux_*.whl
# Neither the module nor the program of this folder: those of the wheel.
unset BLOOMLINE_SO
export -n BLOOMLINE_PLAN
# RedisBloom is there.
export BLOOMLINE_SERVERS=$servers
for product in redis valkey; do
    newest=$(find "$servers" -maxdepth 1 -name "$product-*.*" ! -name '*-*-*' | sort -V | tail -n 1)
    (cd python && BLOOMLINE_SERVER=$newest/server ../.venv-python/bin/pytest -q)
done

newest=$(find "$servers" -maxdepth 1 -name 'redis-*.*' ! -name '*-*-*' | sort -V | tail -n 1)
# pyenv has a version under its name only where it is selected.
if command -v pyenv >/dev/null; then
    PYENV_VERSION=$(pyenv versions --bare | paste -sd :)
    export PYENV_VERSION
fi
for version in 3.9 3.10 3.11 3.12 3.13; do
    if ! "python$version" -c '' 2>/dev/null; then
        echo "test-python: not run: Python $version" >&2
        continue
    fi
    start=$SECONDS
    "python$version" -m venv "$DIST/venv-$version"
    "$DIST/venv-$version/bin/python" -m pip install --quiet --disable-pip-version-check \
        "$(echo "$DIST"/bloomline-*-linux_*.whl)[redis,valkey]"
    BLOOMLINE_SERVER=$newest/server "$DIST/venv-$version/bin/python" python/tests/first_call.py
    echo "test-python: Python $version, from nothing to the first call: $((SECONDS - start)) s"
done

install "$DIST"/bloomline-*-none-any.whl
(cd python && ../.venv-python/bin/python tests/pure.py)
