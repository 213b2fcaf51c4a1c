#!/usr/bin/env bash
# Creates .venv-node with Node.js, and installs the JavaScript client libraries in the folder of
# their tests. Does nothing if both are up to date.
set -euo pipefail
cd "$(dirname "$0")/.."

# pip installs Node.js, so that every machine uses the same pinned version.
scripts/venv.sh node
PATH=$PWD/.venv-node/bin:$PATH
export PATH
cd tests/clients/node

# The list that was installed is kept in node_modules; if it is equal, nothing has to be done.
installed=node_modules/installed.json
if cmp -s package-lock.json "$installed"; then
    exit 0
fi
packages=$(sed -nE '/"dependencies"/,/}/s/^ +"(.+)": "([0-9.]+)",?$/\1@\2/p' package.json |
    paste -sd ' ')
echo "node: installing $packages"
npm ci --loglevel=error --no-audit --no-fund --no-update-notifier >/dev/null
cp package-lock.json "$installed"
