#!/usr/bin/env bash
# Installs the built module, an example of its configuration with the path of the module, and the
# files for monitoring.
#
#   [DESTDIR=] [PREFIX=/usr] [MODULEDIR=$PREFIX/lib/redis/modules] \
#       [DOCDIR=$PREFIX/share/doc/bloomline] scripts/install.sh
#
# STRIP is the `strip` of the module's architecture, if that is not this machine's.
#
# The prefix is /usr, not /usr/local: Debian's services of Redis and Valkey may execute only files
# below /usr/lib.
set -euo pipefail
cd "$(dirname "$0")/.."

built=${BLOOMLINE_SO:-bloomline.so}
prefix=${PREFIX:-/usr}
modules=${MODULEDIR:-$prefix/lib/redis/modules}
documents=${DOCDIR:-$prefix/share/doc/bloomline}
root=${DESTDIR:-}

if [ ! -f "$built" ]; then
    echo "install: no module at $built; run \`make build\` first, as the user who has Rust" >&2
    exit 1
fi

mkdir -p "$root$modules" "$root$documents"
new=$root$modules/.bloomline.so.new
trap 'rm -f "$new"' EXIT
# Keeps the names of functions, for the stack in a crash report. Line numbers and types, which are
# removed, are most of the file.
"${STRIP:-strip}" --strip-debug -o "$new" "$built"
# A server refuses a module that it may not execute, and it runs as another user than this script.
chmod 755 "$new"
# Renames the file into its place: a server may have the old file mapped.
mv -f "$new" "$root$modules/bloomline.so"
sed "s#/path/to/bloomline.so#$modules/bloomline.so#" redis.conf.example \
    >"$root$documents/redis.conf.example"
chmod 644 "$root$documents/redis.conf.example"
install -D -m 644 -t "$root$documents/monitoring" packaging/monitoring/*

echo "installed $root$modules/bloomline.so; add this line to redis.conf or valkey.conf and restart:"
echo "loadmodule $modules/bloomline.so"
