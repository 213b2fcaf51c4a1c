#!/usr/bin/env bash
# Packs the built module for Debian and its kin: bloomline_VERSION_MACHINE.deb in DIST (dist/).
#
# Nothing is restarted by the package, and no configuration is changed: both are the administrator's.
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/facts.sh

tree=$work/tree
mkdir -p "$tree/DEBIAN"
DESTDIR=$tree PREFIX=/usr MODULEDIR='' DOCDIR='' scripts/install.sh >/dev/null

documents=$tree/usr/share/doc/bloomline
install -m 644 README.md "$documents/README.md"
install -m 644 LICENSE "$documents/copyright"
gzip -n -9 <CHANGELOG.md >"$documents/changelog.gz"

size=$(du -sk --apparent-size "$tree/usr" | cut -f1)
sed -e "s/@version@/$version/" -e "s/@machine@/$debian_machine/" -e "s/@size@/$size/" -e "s/@glibc@/$glibc/" \
    packaging/control.in >"$tree/DEBIAN/control"
(cd "$tree" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) >"$tree/DEBIAN/md5sums"

# dpkg-deb takes times from SOURCE_DATE_EPOCH only where files are newer, as all of these are.
package=bloomline_${version}_$debian_machine.deb
dpkg-deb --build --root-owner-group -Zxz --threads-max=1 "$tree" "$work/$package" >/dev/null
mv -f "$work/$package" "$dist/$package"
echo "$dist/$package"
