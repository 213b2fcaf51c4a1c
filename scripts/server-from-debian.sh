#!/usr/bin/env bash
# Unpacks one Redis or Valkey server of a Debian release into a folder, installing nothing.
#
#   scripts/server-from-debian.sh SUITE redis|valkey FOLDER
#
# FOLDER receives bin/ (server and cli), lib/ (the C library and the rest of what they link to, with the
# loader) and `origin`. Packages are fetched by a private apt whose lists, cache and status lie in a
# temporary folder, so root is not needed; the mirror is the one this machine's own apt uses.
set -euo pipefail

suite=$1 product=$2 folder=$3

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What this machine calls its own release; bookworm stands in on systems that are not Debian.
codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
grep -qx 'ID=debian' /etc/os-release || codename=bookworm

# The URI in front of the release's name, read from apt itself: it knows both formats of its sources.
# DEBIAN_MIRROR is for systems that have apt and are not Debian.
mirror() {
    if [ -n "${DEBIAN_MIRROR:-}" ]; then
        echo "${DEBIAN_MIRROR%/}/"
    else
        apt-get update --print-uris -o Dir::State::lists="$work/none" |
            sed -nE "s#^'(.*/)dists/($codename|oldstable|stable|testing|unstable|sid)/InRelease'.*#\\1#p" |
            sed -n 1p
    fi
}

# The machine's own keys come first; a release newer than those is signed by keys of a newer keyring.
machine_keyring() {
    local file
    for file in /usr/share/keyrings/debian-archive-keyring.{gpg,pgp}; do
        if [ -e "$file" ]; then
            echo "$file"
            return
        fi
    done
    echo "server-from-debian: no keyring of the Debian archive (package debian-archive-keyring)" >&2
    return 1
}

# apt_root NAME KEYRING SUITE...: a private apt for these suites, its configuration in $work/NAME/apt.conf.
apt_root() {
    local name=$1 keyring=$2 root=$work/$1 one
    shift 2
    mkdir -p "$root/lists/partial" "$root/cache/archives/partial"
    : >"$root/status"
    : >"$root/sources.list"
    for one in "$@"; do
        echo "deb [target=Packages signed-by=$keyring] $uri $one main" >>"$root/sources.list"
    done
    # Proxies and passwords of the machine stay in force; its sources, pins and hooks do not.
    # Old and moving releases outlive the date in their Release file: signatures are checked all the same.
    cat >"$root/apt.conf" <<CONF
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Post-Invoke;
Dir::State "$root";
Dir::State::lists "$root/lists";
Dir::State::status "$root/status";
Dir::Cache "$root/cache";
Dir::Etc::sourcelist "$root/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Check-Valid-Until "false";
Acquire::Retries "3";
CONF
}

# private NAME COMMAND...: an apt command in that private root, its output shown only when it fails.
private() {
    local name=$1
    shift
    if ! "$1" -c "$work/$name/apt.conf" -qq "${@:2}" >"$work/log" 2>&1; then
        cat "$work/log" >&2
        return 1
    fi
}

# update NAME: apt calls an unsigned or unreachable release a warning; here it is a failure.
update() {
    private "$1" apt-get update --error-on=any
}

# newer_keyring: the keyring package of the machine's own release, checked by the keys the machine has.
newer_keyring() {
    apt_root keyring "$keyring" "$codename"
    update keyring
    private keyring apt-get install -y --download-only debian-archive-keyring
    dpkg-deb -x "$work"/keyring/cache/archives/debian-archive-keyring_*.deb "$work/keyring/tree"
    keyring=$work/keyring/tree/usr/share/keyrings/debian-archive-keyring.gpg
}

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
            echo "server-from-debian: $name wants $line, which $suite's packages do not hold" >&2
            return 1
            ;;
        esac
    done < <("$loader" --library-path "$library_path" --list "$program")
}

uri=$(mirror)
if [ -z "$uri" ]; then
    echo "server-from-debian: apt knows no Debian mirror here; name one with DEBIAN_MIRROR=" >&2
    exit 1
fi
keyring=$(machine_keyring)

# A backports suite holds the server, the release under it the libraries.
suites=("${suite%-backports}")
[ "$suite" = "${suites[0]}" ] || suites+=("$suite")

apt_root fetch "$keyring" "${suites[@]}"
if ! update fetch 2>/dev/null; then
    newer_keyring
    apt_root fetch "$keyring" "${suites[@]}"
    update fetch
fi

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
