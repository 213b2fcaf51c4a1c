#!/usr/bin/env bash
# Builds one Redis or Valkey server from the upstream source in a Debian release.
#
#   scripts/server-from-source.sh SUITE redis|valkey FOLDER bundled|musl
#
# bundled: with the jemalloc bundled in that source. Debian's packages link the system's jemalloc.
#     Upstream's own builds, Docker images and clouds use the bundled one, which has other size
#     classes and page alignment, and active defragmentation.
# musl: linked to the C library of Alpine, with its allocator. Only for sources without C++.
#
# FOLDER receives bin/ (server and cli, linked to this machine's C and C++ libraries) and `origin`.
# The source is fetched by a private apt (debian.sh); root is not needed. Only the upstream archive
# is used: Debian's patches remove the bundled jemalloc from the build.
#
# A build takes minutes, so a finished one is kept outside the checkout, for every later checkout:
#   ${XDG_CACHE_HOME:-~/.cache}/bloomline/servers/PRODUCT-SUITE-FORM-VERSION-HASH/
# FORM is the fourth argument, HASH that of this script, the architecture and the C library's version. Old entries may be
# deleted at any time. Without access to the archive, the only entry with the right HASH is used.
set -euo pipefail

suite=$1 product=$2 folder=$3 form=$4

# shellcheck source=scripts/debian.sh
. "$(dirname "$0")/debian.sh"

cache=${XDG_CACHE_HOME:-$HOME/.cache}/bloomline/servers
hash=$({ cat "$0" && uname -m && getconf GNU_LIBC_VERSION; } | sha256sum | cut -c1-12)

# source_version: the Debian version of the newest source package in the suite.
source_version() {
    apt-cache -c "$work/fetch/apt.conf" showsrc --only-source "$product" |
        sed -n 's/^Version: //p' | sort -V | tail -n 1
}

# unpack_source TREE: fetches the upstream archive, checked by the signed index, and unpacks it.
unpack_source() {
    local tree=$1
    mkdir -p "$work/source" "$tree"
    (cd "$work/source" && private fetch apt-get source --download-only --tar-only "$product")
    tar -xf "$work/source/$product"_*.orig.tar.* -C "$tree" --strip-components 1
}

# linux_headers: prints a folder with the kernel's headers alone, which musl-gcc does not find.
linux_headers() {
    local name folder
    mkdir -p "$work/headers"
    for name in linux asm asm-generic; do
        for folder in /usr/include /usr/include/*-linux-gnu; do
            [ ! -d "$folder/$name" ] || ln -sfn "$folder/$name" "$work/headers/$name"
        done
    done
    echo "$work/headers"
}

# build TREE: compiles server and cli with the compilers' own libraries and what is in the source.
#
# An empty environment keeps out the flags and the job server of a `make` that called this script;
# without an explicit USE_SYSTEMD the build would link libsystemd wherever it is installed.
build() {
    local log=$work/make.log options=(MALLOC=jemalloc)
    [ "$form" = bundled ] || options=(MALLOC=libc CC="musl-gcc -idirafter $(linux_headers)")
    if ! env -i PATH="$PATH" HOME="$HOME" TMPDIR="${TMPDIR:-/tmp}" LC_ALL=C \
        make -C "$1/src" -j"$(nproc)" "${options[@]}" BUILD_TLS=no USE_SYSTEMD=no \
        "$product-server" "$product-cli" >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        return 1
    fi
}

# check_libc SERVER: fails unless the server uses musl.
check_libc() {
    if ! objdump -s -j .interp "$1" | grep ld-musl >/dev/null; then
        echo "server-from-source: $1 is not linked to musl" >&2
        return 1
    fi
}

# check_allocator SERVER CLI: fails unless the server runs with its bundled jemalloc and can
# defragment.
check_allocator() {
    local server=$1 cli=$2 run=$work/run pid deadline allocator defrag
    if ldd "$server" | grep libjemalloc >&2; then
        echo "server-from-source: $server links the system's jemalloc, not the bundled one" >&2
        return 1
    fi
    mkdir "$run"
    "$server" --port 0 --unixsocket "$run/socket" --dir "$run" --save '' >"$run/log" 2>&1 &
    pid=$!
    deadline=$((SECONDS + 120))
    until "$cli" -s "$run/socket" PING >/dev/null 2>&1 ||
        [ $SECONDS -gt $deadline ] || ! kill -0 $pid 2>/dev/null; do
        sleep 0.05
    done
    allocator=$("$cli" -s "$run/socket" INFO memory | tr -d '\r' |
        sed -n 's/^mem_allocator://p') || true
    defrag=$("$cli" -s "$run/socket" CONFIG SET activedefrag yes) || true
    kill $pid 2>/dev/null || true
    wait $pid || true
    if [[ $allocator != jemalloc-5.* || $defrag != OK ]]; then
        tail -n 5 "$run/log" >&2
        echo "server-from-source: mem_allocator is '$allocator', expected jemalloc-5.*;" \
            "CONFIG SET activedefrag yes answered '$defrag', expected OK" >&2
        return 1
    fi
}

# make_entry VERSION ENTRY: builds, checks, and renames the result into place, so that an entry in
# the cache is always complete.
make_entry() {
    local version=$1 entry=$2 tree=$work/tree new name
    unpack_source "$tree"
    build "$tree"
    case $form in
    bundled) check_allocator "$tree/src/$product-server" "$tree/src/$product-cli" ;;
    musl) check_libc "$tree/src/$product-server" ;;
    esac
    new=$(mktemp -d "$cache/.new.XXXXXX")
    for name in server cli; do
        install -D -m 755 "$tree/src/$product-$name" "$new/bin/$product-$name"
    done
    echo "Debian $suite source, $product $version, ${form/bundled/bundled jemalloc}" >"$new/origin"
    chmod 755 "$new"
    # Without flock, another build may have been faster: its entry is as good.
    mv -T "$new" "$entry" 2>/dev/null || rm -rf "$new"
}

entry=
if open_archive deb-src "$suite" && version=$(source_version) && [ -n "$version" ]; then
    # Like Debian's own file names, without the epoch and its colon.
    entry=$cache/$product-$suite-$form-${version#*:}-$hash
    mkdir -p "$cache"
    # One build at a time, on all processors; who waits for the same server finds it in the cache.
    exec 8>"$cache/.lock"
    ! command -v flock >/dev/null || flock 8
    [ -d "$entry" ] || make_entry "$version" "$entry"
    exec 8>&-
else
    mapfile -t found < <(compgen -G "$cache/$product-$suite-$form-*-$hash")
    if [ ${#found[@]} -ne 1 ]; then
        echo "server-from-source: no access to the source of $product in Debian $suite, and" \
            "${#found[@]} builds of it in $cache where one is needed" >&2
        exit 1
    fi
    entry=${found[0]}
    echo "server-from-source: NOTE: no access to Debian's archive; using $entry" >&2
fi

mkdir -p "$folder"
cp -R "$entry/." "$folder/"
