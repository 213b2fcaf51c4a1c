#!/usr/bin/env bash
# Starts a server with the module in the foreground. It listens on loopback; its data is in .run/.
#
#   PORT=6379 SERVER=... scripts/run.sh
#
# SERVER is a name of `scripts/servers.sh --list`, a command or a path. Without it the script uses
# the first that exists: redis-server or valkey-server on PATH, the server program of redis-tools,
# the newest server in .servers/.
set -euo pipefail
cd "$(dirname "$0")/.."

port=${PORT:-6379}
chosen=${SERVER:-}

# A server of .servers/ has its own cli in the same folder; one of the system has its cli on PATH.
from_folder() {
    server=$1/server
    cli=$1/cli
}

from_system() {
    server=$1
    cli=redis-cli
    command -v redis-cli >/dev/null || cli=valkey-cli
}

# newest_server: the program of the highest version; of several builds of that version, the one
# whose folder has no suffix such as -bundled.
newest_server() {
    compgen -G '.servers/*/server' |
        sed -E 's#^\.servers/([a-z]+-[0-9.]+)(-[^/]*)?/server$#\1 \2 &#' |
        sort -t ' ' -k 1,1V -k 2,2r | tail -n 1 | cut -d ' ' -f 3
}

if [ -n "$chosen" ]; then
    if command -v "$chosen" >/dev/null; then
        from_system "$(command -v "$chosen")"
    else
        scripts/servers.sh "$chosen"
        from_folder "$(scripts/servers.sh --where "$chosen")"
    fi
elif path=$(command -v redis-server || command -v valkey-server); then
    from_system "$path"
elif path=$(command -v redis-check-rdb); then
    # Debian's redis-tools without redis-server. It is the same program, and runs as a server if it
    # is called by that name.
    from_system "$path"
    called=redis-server
elif folder=$(newest_server); then
    from_folder "$(dirname "$folder")"
else
    echo "run: no server found: install redis-server or valkey-server, or set SERVER=" >&2
    exit 1
fi

mkdir -p .run
echo "try: $cli -p $port BF.ADD codehole user1"
exec -a "${called:-$server}" "$server" --port "$port" --bind 127.0.0.1 --dir "$PWD/.run" \
    --loadmodule "${BLOOMLINE_SO:-$PWD/bloomline.so}"
