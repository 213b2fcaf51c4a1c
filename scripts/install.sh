#!/usr/bin/env bash
# Installs the built module, with an example of its configuration in which its path is filled in.
#
#   [DESTDIR=] [PREFIX=/usr] [MODULEDIR=$PREFIX/lib/redis/modules] [DOCDIR=$PREFIX/share/doc/bloomline] scripts/install.sh
#
# /usr and not /usr/local: Debian's services of Redis and Valkey may execute files of /usr/lib only.
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
# Names of functions stay in it, for the stack in a crash report; lines and types are nine tenths of the file.
strip --strip-debug -o "$new" "$built"
# Servers refuse a module that is not executable, and run as another user than the one who installs.
chmod 755 "$new"
# Renamed into place, never written over: a server may have the old file mapped.
mv -f "$new" "$root$modules/bloomline.so"
sed "s#/path/to/bloomline.so#$modules/bloomline.so#" redis.conf.example >"$root$documents/redis.conf.example"
chmod 644 "$root$documents/redis.conf.example"

echo "installed $root$modules/bloomline.so; the line for redis.conf or valkey.conf, used at the next start:"
echo "loadmodule $modules/bloomline.so"
