#!/usr/bin/env bash
# Makes virtual environments for the tests of client libraries, and does nothing for those that are up to date.
#
#   scripts/venv.sh [NAME]...
#
# Without a name: .venv, of tests/clients/requirements.txt. With one: .venv-NAME, of requirements-NAME.txt
# there, for what can't live beside the others (older releases, another language's tools).
set -euo pipefail
cd "$(dirname "$0")/.."

# wanted FILE: the list and all that it refers to, as one text.
wanted() {
    local reference
    cat "$1"
    sed -nE 's/^-[cr] +//p' "$1" | while read -r reference; do cat "$(dirname "$1")/$reference"; done
}

# make_venv VENV REQUIREMENTS
make_venv() {
    local venv=$1 requirements=$2
    # The lists that were installed are kept in the venv: equal lists mean nothing to do.
    if wanted "$requirements" | cmp -s - "$venv/requirements.txt" && "$venv/bin/python" -c '' 2>/dev/null; then
        return
    fi
    scripts/deps.sh test
    echo "venv: $venv: installing $(grep -hE '^[a-z].*==' "$requirements" | paste -sd ' ')"
    python3 -m venv --clear "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$requirements"
    wanted "$requirements" >"$venv/requirements.txt"
}

[ $# -gt 0 ] || set -- ""
for name in "$@"; do
    make_venv ".venv${name:+-$name}" "tests/clients/requirements${name:+-$name}.txt"
done
