#!/usr/bin/env bash
# Fetches the source of hiredis 1 into .hiredis/hiredis/. Does nothing if it is there.
#
# Debian 12 has release 0.14, which does not know RESP3. PyPI's package of the same name contains the
# source of the C library.
set -euo pipefail
cd "$(dirname "$0")/.."

package=hiredis==3.5.0

if grep -qsx "$package" .hiredis/installed; then
    exit 0
fi
scripts/venv.sh
echo "hiredis: fetching the source in $package"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
.venv/bin/python -m pip download --quiet --disable-pip-version-check --no-deps \
    --no-binary hiredis --dest "$work" "$package"
tar -xf "$work"/hiredis-*.tar.gz -C "$work" --strip-components 1
rm -rf .hiredis
mkdir .hiredis
mv "$work/vendor/hiredis" .hiredis/hiredis
echo "$package" >.hiredis/installed
