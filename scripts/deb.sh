#!/usr/bin/env bash
# Builds a package for Debian and its derivatives from the built module:
# bloomline_VERSION_MACHINE.deb in DIST (dist/). BLOOMLINE_MAINTAINER is explained in
# packaging/facts.sh.
#
# The package restarts nothing and changes no configuration: the administrator does both.
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/facts.sh

tree=$work/tree
mkdir -p "$tree/DEBIAN"
DESTDIR=$tree PREFIX=/usr MODULEDIR='' DOCDIR='' scripts/install.sh >/dev/null

documents=$tree/usr/share/doc/bloomline
install -m 644 packaging/README.md SECURITY.md "$documents"
cat LICENSE packaging/THIRD-PARTY-LICENSES.txt >"$documents/copyright"
gzip -n -9 <CHANGELOG.md >"$documents/changelog.gz"

size=$(du -sk --apparent-size "$tree/usr" | cut -f1)
libraries="libc6 (>= $glibc)"
# Releases bring their own unwinder.
! readelf -d "$so" | grep -F '[libgcc_s.so.1]' >/dev/null || libraries+=", libgcc-s1"
control=$(<packaging/control.in)
control=${control/@version@/"$version"}
control=${control/@machine@/"$debian_machine"}
control=${control/@size@/"$size"}
control=${control/@libraries@/"$libraries"}
control=${control/@maintainer@/"$maintainer"}
printf '%s\n' "$control" >"$tree/DEBIAN/control"
(cd "$tree" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) >"$tree/DEBIAN/md5sums"

# dpkg-deb sets the time of a file to SOURCE_DATE_EPOCH only if the file is newer. All of these are.
package=bloomline_${version}_$debian_machine.deb
dpkg-deb --build --root-owner-group -Zxz --threads-max=1 "$tree" "$work/$package" >/dev/null
mv -f "$work/$package" "$dist/$package"
echo "$dist/$package"
