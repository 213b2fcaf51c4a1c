#!/usr/bin/env bash
# Runs `make run` in the smallest Debian or Ubuntu with make and nothing else, as on a new machine,
# until the server answers.
#
#   scripts/bare.sh bookworm|trixie|noble
#
# The packages come from the mirror of this machine's apt, for Ubuntu on Debian from the folder
# beside it; DEBIAN_MIRROR and UBUNTU_MIRROR name others. Needs root. The status is 3 if there is no
# mirror.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/debian.sh
system=$1 root=$work/root log=$work/make

# debian.sh removes the folder.
uri=$(mirror) || exit 3
if [ "$system" = noble ]; then
    uri=${UBUNTU_MIRROR:-${uri%debian/}ubuntu/}
    # All releases of Ubuntu are made by the same steps, whose file has the name of the oldest.
    steps=gutsy components="main universe"
else
    steps=sid components=main
fi
# This machine may not have the keys of another system. Nothing of the folder runs outside of it.
debootstrap --no-check-gpg --variant=minbase --include=make --components="${components/ /,}" \
    "$system" "$root" "$uri" "/usr/share/debootstrap/scripts/$steps" >"$log" 2>&1 || {
    tail "$log" >&2
    exit 3
}
{
    echo "deb [trusted=yes] $uri $system $components"
    echo "deb [trusted=yes] $uri $system-updates $components"
    # Where Debian 12 has a newer Rust. Every installation has this line.
    [ "$system" = noble ] || echo "deb [trusted=yes] ${uri%/}-security/ $system-security main"
} >"$root/etc/apt/sources.list"
# How this machine reaches its network.
mkdir -p "$root/etc/ssl/certs"
cp /etc/resolv.conf /etc/hosts "$root/etc/"
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
mkdir "$root/bloomline"
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$root/bloomline"

port=$(python3 -c '
import socket
with socket.create_server(("127.0.0.1", 0)) as server:
    print(server.getsockname()[1])')
# Its mounts and processes end with the namespace.
unshare --mount --pid --fork --kill-child --mount-proc="$root/proc" \
    env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    chroot "$root" make -C /bloomline run PORT="$port" >"$log" 2>&1 &
server=$!
trap '{ kill -KILL $server && wait $server; } 2>/dev/null; rm -rf "$work"' EXIT
until [ "$(chroot "$root" redis-cli -p "$port" BF.ADD seen user1 2>/dev/null)" = 1 ]; do
    if ! kill -0 "$server" 2>/dev/null || [ "$SECONDS" -ge 1800 ]; then
        tail -n 20 "$log" >&2
        exit 1
    fi
    sleep 1
done
echo "bare: $system: $(sed -n 's/^deps: installing //p' "$log" | paste -sd ' '); $SECONDS s"
