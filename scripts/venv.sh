#!/usr/bin/env bash
# Creates virtual environments for the tests of client libraries. Does nothing for those that are up
# to date.
#
#   scripts/venv.sh [NAME]...
#
# Without a name: .venv, from tests/clients/requirements.txt. With one: .venv-NAME, from
# requirements-NAME.txt there, for packages that conflict with the others (older releases, tools of
# another language).
set -euo pipefail
cd "$(dirname "$0")/.."

# wanted FILE: prints the list and the lists that it includes.
wanted() {
    local reference
    cat "$1"
    sed -nE 's/^-[cr] +//p' "$1" | while read -r reference; do cat "$(dirname "$1")/$reference"; done
}

# make_venv VENV REQUIREMENTS: creates the environment, unless it is up to date.
make_venv() {
    local venv=$1 requirements=$2
    # The lists that were installed are kept in the venv; if they are equal, nothing has to be done.
    if wanted "$requirements" | cmp -s - "$venv/requirements.txt" &&
        "$venv/bin/python" -c '' 2>/dev/null; then
        return
    fi
    scripts/deps.sh test
    echo "venv: $venv: installing $(grep -hE '^[a-z].*==' "$requirements" | paste -sd ' ')"
    python3 -m venv --clear "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
        --requirement "$requirements"
    wanted "$requirements" >"$venv/requirements.txt"
}

[ $# -gt 0 ] || set -- ""
for name in "$@"; do
    make_venv ".venv${name:+-$name}" "tests/clients/requirements${name:+-$name}.txt"
done
