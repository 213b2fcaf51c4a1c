#!/usr/bin/env bash
# Packs the built module for any Linux with its C library, and apart from it the information for
# debuggers. In DIST (dist/):
#   bloomline-VERSION-TARGET.tar.gz
#   bloomline-VERSION-TARGET-symbols.tar.gz    bloomline.so.debug, which gdb reads if it lies beside
#                                              the module
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/facts.sh

name=bloomline-$version-$machine-unknown-linux-$libc
mkdir -p "$work/$name" "$work/$name-symbols"
"$OBJCOPY" --only-keep-debug "$so" "$work/$name-symbols/bloomline.so.debug"
"$STRIP" --strip-debug -o "$work/$name/bloomline.so" "$so"
"$OBJCOPY" --add-gnu-debuglink="$work/$name-symbols/bloomline.so.debug" "$work/$name/bloomline.so"
chmod 755 "$work/$name/bloomline.so"
chmod 644 "$work/$name-symbols/bloomline.so.debug"
install -m 644 -t "$work/$name" LICENSE packaging/THIRD-PARTY-LICENSES.txt packaging/README.md \
    SECURITY.md CHANGELOG.md redis.conf.example
install -D -m 644 -t "$work/$name/monitoring" packaging/monitoring/*

# Fixed order, times, owners and gzip header: the archives must not depend on the machine.
for folder in "$name" "$name-symbols"; do
    tar --create --directory "$work" --sort=name --format=ustar --mtime="@$SOURCE_DATE_EPOCH" \
        --owner=0 --group=0 --numeric-owner "$folder" | gzip -n -9 >"$work/$folder.tar.gz"
    mv -f "$work/$folder.tar.gz" "$dist/$folder.tar.gz"
done
[ -z "$glibc" ] || libc="glibc $glibc or newer"
echo "$dist/$name.tar.gz ($libc)"
