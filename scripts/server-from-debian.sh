#!/usr/bin/env bash
# Unpacks one Redis or Valkey server of a Debian release into a folder. Installs nothing.
#
#   scripts/server-from-debian.sh SUITE redis|valkey FOLDER [ARCHITECTURE]
#
# ARCHITECTURE is a Debian name; the default is that of this machine. The programs of another one
# run under qemu.
#
# FOLDER receives bin/ (server and cli), lib/ (the C library and the rest of what they link to, with
# the loader) and `origin`. Packages are fetched by a private apt (debian.sh); root is not needed.
set -euo pipefail

suite=$1 product=$2 folder=$3

# shellcheck source=scripts/debian.sh
. "$(dirname "$0")/debian.sh"
architecture=${4:-}
emulator=()
[ "$architecture" != arm64 ] || emulator=(qemu-aarch64)

# Copies a program and every library it links to out of the unpacked tree.
take() {
    local program=$1 name=$2 line library
    install -D -m 755 "$program" "$folder/bin/$name"
    while read -r line; do
        library=${line#* => }
        library=${library% (*}
        case $library in
        "$tree"/*) install -m 755 -D "$library" "$folder/lib/$(basename "${line%% *}")" ;;
        *vdso*) ;;
        *)
            echo "server-from-debian: $name needs $line, which is not in the packages of $suite" >&2
            return 1
            ;;
        esac
    done < <("${emulator[@]}" "$loader" --library-path "$library_path" --list "$program")
}

# A backports suite holds the server, the release under it the libraries.
suites=("${suite%-backports}")
[ "$suite" = "${suites[0]}" ] || suites+=("$suite")

open_archive deb "${suites[@]}"

# The -tools package holds the program; -server only adds a link to it and the service.
# libgcc-s1 and libstdc++6 are for modules, which the server loads into itself.
private fetch apt-get install -y --download-only --no-install-recommends \
    --target-release "$suite" "$product-tools" libgcc-s1 libstdc++6

tree=$work/tree
for package in "$work"/fetch/cache/archives/*.deb; do
    dpkg-deb -x "$package" "$tree"
done

loader=$(find "$tree" -name 'ld-linux*.so.*' -type f -print -quit)
library_path=$(dirname "$loader"):$tree/usr/lib/$(basename "$(dirname "$loader")")
mkdir -p "$folder/lib"
take "$tree/usr/bin/$product-check-rdb" "$product-server"
take "$tree/usr/bin/$product-cli" "$product-cli"
install -m 755 "$loader" "$folder/lib/ld.so"
for library in libgcc_s.so.1 libstdc++.so.6 libm.so.6 libpthread.so.0 libdl.so.2 librt.so.1; do
    found=$(find "$tree" -name "$library" -print -quit)
    [ -z "$found" ] || install -m 755 "$found" "$folder/lib/$library"
done
version=$(apt-cache -c "$work/fetch/apt.conf" policy "$product-tools" | sed -n 's/^ *Candidate: //p')
echo "Debian $suite, $product-tools $version" >"$folder/origin"
