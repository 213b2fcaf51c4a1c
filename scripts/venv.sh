#!/usr/bin/env bash
# Makes .venv with the client libraries that tests/clients asks for, and does nothing when it is up to date.
set -euo pipefail
cd "$(dirname "$0")/.."

requirements=tests/clients/requirements.txt
# The list that was installed is kept in the venv: equal lists mean nothing to do.
installed=.venv/requirements.txt

if cmp -s "$requirements" "$installed" && .venv/bin/python -c '' 2>/dev/null; then
    exit 0
fi
scripts/deps.sh test
echo "venv: installing $(grep -v '^#' "$requirements" | paste -sd ' ')"
python3 -m venv --clear .venv
.venv/bin/python -m pip install --quiet --disable-pip-version-check --requirement "$requirements"
cp "$requirements" "$installed"
