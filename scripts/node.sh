#!/usr/bin/env bash
# Makes .venv-node with Node.js, puts the JavaScript client libraries beside their tests, and does nothing when both are there.
set -euo pipefail
cd "$(dirname "$0")/.."

# Node.js comes by pip, so that one pinned version is used on every machine.
scripts/venv.sh node
PATH=$PWD/.venv-node/bin:$PATH
export PATH
cd tests/clients/node

# The list that was installed is kept beside it: equal lists mean nothing to do.
installed=node_modules/installed.json
if cmp -s package-lock.json "$installed"; then
    exit 0
fi
echo "node: installing $(sed -nE '/"dependencies"/,/}/s/^ +"(.+)": "([0-9.]+)",?$/\1@\2/p' package.json | paste -sd ' ')"
npm ci --loglevel=error --no-audit --no-fund --no-update-notifier >/dev/null
cp package-lock.json "$installed"
