#!/usr/bin/env bash
# Fetches Prometheus, promtool and the exporter for Redis from Debian 12 into .monitoring/, once.
# Installs nothing, and starts no service.
set -euo pipefail
cd "$(dirname "$0")/.."

home=.monitoring
[ ! -x "$home/promtool" ] || exit 0

# shellcheck source=scripts/debian.sh
. scripts/debian.sh

open_archive deb bookworm
# The programs are in Go, and need only the C library of this machine.
(cd "$work" && private fetch apt-get download prometheus prometheus-redis-exporter)
for package in "$work"/prometheus*.deb; do
    dpkg-deb -x "$package" "$work/tree"
done
mkdir -p "$home"
# promtool is the last file, because its presence means that all are there.
for program in prometheus-redis-exporter prometheus promtool; do
    install -m 755 "$work/tree/usr/bin/$program" "$home/$program"
done
echo "$home: $("$home/promtool" --version 2>&1 | sed -n 1p)"
