# shellcheck shell=bash
# Access to the packages of any Debian release, without root and without changing this machine.
#
# To be sourced, under `set -euo pipefail`. A private apt keeps its lists, cache and status in the
# temporary folder $work, which this file creates and removes at exit; the mirror is the one that
# this machine's own apt uses. DEBIAN_MIRROR names one on systems that have apt and are not Debian.

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
architecture=''

# The release of this machine; bookworm on systems that are not Debian.
codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
grep -qx 'ID=debian' /etc/os-release || codename=bookworm

# mirror: prints the URI before the release's name. apt reports it, since it reads both formats of
# source lists.
mirror() {
    local uri=${DEBIAN_MIRROR:-}
    if [ -n "$uri" ]; then
        echo "${uri%/}/"
        return
    fi
    uri=$(apt-get update --print-uris -o Dir::State::lists="$work/none" |
        sed -nE "s#^'(.*/)dists/($codename|(old)?stable|testing|unstable|sid)/InRelease'.*#\\1#p" |
        sed -n 1p) || return 1
    if [ -z "$uri" ]; then
        echo "${0##*/}: apt has no Debian mirror here; set DEBIAN_MIRROR= to one" >&2
        return 1
    fi
    echo "$uri"
}

# machine_keyring: prints the file with the keys of this machine. A newer release may be signed with
# keys that only a newer keyring has.
machine_keyring() {
    local file
    for file in /usr/share/keyrings/debian-archive-keyring.{gpg,pgp}; do
        if [ -e "$file" ]; then
            echo "$file"
            return
        fi
    done
    echo "${0##*/}: no keyring of the Debian archive (package debian-archive-keyring)" >&2
    return 1
}

# apt_root NAME deb|deb-src SUITE...: creates a private apt for the packages, or for the sources, of
# these suites. Its configuration is $work/NAME/apt.conf. Reads $uri and $keyring, and $architecture
# (a Debian name such as arm64), which is that of this machine if it is empty.
apt_root() {
    local name=$1 type=$2 root=$work/$1 target=Packages suite
    shift 2
    [ "$type" = deb ] || target=Sources
    mkdir -p "$root/lists/partial" "$root/cache/archives/partial"
    : >"$root/status"
    : >"$root/sources.list"
    for suite in "$@"; do
        echo "$type [target=$target signed-by=$keyring] $uri $suite main" >>"$root/sources.list"
    done
    # The machine's proxies and passwords are used; its sources, pins and hooks are not. The Release
    # file of an old or a moving release may have expired; signatures are still checked.
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
    if [ -n "$architecture" ]; then
        printf 'APT::Architecture "%s";\nAPT::Architectures { "%s"; };\n' \
            "$architecture" "$architecture" >>"$root/apt.conf"
    fi
}

# private NAME COMMAND...: runs an apt command in that private root, and prints its output only if
# it fails.
private() {
    local name=$1
    shift
    if ! "$1" -c "$work/$name/apt.conf" -qq "${@:2}" >"$work/log" 2>&1; then
        cat "$work/log" >&2
        return 1
    fi
}

# update NAME: updates the lists. An unsigned or unreachable release is an error, not a warning.
update() {
    private "$1" apt-get update --error-on=any
}

# newer_keyring: sets $keyring to the keyring of the newest keyring package in the machine's
# release, which is signed with keys that the machine has.
newer_keyring() {
    apt_root keyring deb "$codename"
    update keyring || return 1
    private keyring apt-get install -y --download-only debian-archive-keyring || return 1
    dpkg-deb -x "$work"/keyring/cache/archives/debian-archive-keyring_*.deb "$work/keyring/tree" ||
        return 1
    keyring=$work/keyring/tree/usr/share/keyrings/debian-archive-keyring.gpg
}

# open_archive deb|deb-src SUITE...: creates and updates the private root `fetch` of these suites.
# Every step needs `|| return`: `set -e` has no effect if a caller tests the result.
open_archive() {
    uri=$(mirror) || return 1
    keyring=$(machine_keyring) || return 1
    apt_root fetch "$@"
    update fetch 2>/dev/null && return
    newer_keyring || return 1
    apt_root fetch "$@"
    update fetch
}
