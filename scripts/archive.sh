#!/usr/bin/env bash
# Packs the built module for any Linux with glibc:
# bloomline-VERSION-MACHINE-unknown-linux-gnu.tar.gz in DIST (dist/).
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/facts.sh

name=bloomline-$version-$machine-unknown-linux-gnu
mkdir -p "$work/$name"
strip --strip-debug -o "$work/$name/bloomline.so" "$so"
chmod 755 "$work/$name/bloomline.so"
install -m 644 README.md LICENSE CHANGELOG.md redis.conf.example "$work/$name"

# Fixed order, times, owners and gzip header: the archive must not depend on the machine.
tar --create --directory "$work" --sort=name --format=ustar --mtime="@$SOURCE_DATE_EPOCH" \
    --owner=0 --group=0 --numeric-owner "$name" | gzip -n -9 >"$work/$name.tar.gz"
mv -f "$work/$name.tar.gz" "$dist/$name.tar.gz"
echo "$dist/$name.tar.gz (glibc $glibc or newer)"
