#!/usr/bin/env bash
# Measures the Python package as users get it, a wheel in a virtual environment, on redis-8.2:
# python/benches/rates.py, which starts the server by the package. The figures go into
# docs/how-to/python.md.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${BLOOMLINE_SO:?names the module}"
servers=$(realpath "${BLOOMLINE_SERVERS:-.servers}")

DIST=$(mktemp -d)
export DIST
trap 'rm -rf "$DIST"' EXIT
scripts/wheel.sh >/dev/null
scripts/venv.sh python
.venv-python/bin/python -m pip install --quiet --disable-pip-version-check --no-deps \
    --force-reinstall "$DIST"/bloomline-*-none-any.whl
export BLOOMLINE_SERVER=$servers/redis-8.2/server
.venv-python/bin/python python/benches/rates.py | python3 benches/published/rates.py
