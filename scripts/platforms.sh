#!/usr/bin/env bash
# Builds the module for other platforms, and tests it on servers of these platforms.
#
#   scripts/platforms.sh [PART]...
#
# The parts; without one, all of them:
#   glibc         x86-64 with the C library of a release: the tests of archives and packages
#   arm64         64-bit ARM: the core's tests and server tests, under qemu; packages
#   musl          the C library of Alpine: server tests
#   compile       what is only compiled, for macOS: the core, and the module without linking it
#   reproducible  two builds in different folders: equal files
#   oldest        `make test` with the oldest Rust, that of Cargo.toml
#   bare          `make run` in the smallest systems, which have make and no Rust: Debian 12 and 13,
#                 Ubuntu 24.04
# Fails if a part fails. What the parts need is installed (scripts/deps.sh). A part for which rustup
# cannot fetch Rust's library is not run, which is reported at once and again at the end.
set -euo pipefail
cd "$(dirname "$0")/.."
target_dir=$(realpath -m "${CARGO_TARGET_DIR:-target}")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# The file of a release instead of the one that `make build` links with this machine's C library.
glibc() {
    scripts/servers.sh
    scripts/cargo-for.sh "$target" build --release --lib
    install_tests machine_code:: archive:: package:: page::
}

# install_tests ARGUMENT...: runs tests of tests/install with the module of the target.
install_tests() {
    BLOOMLINE_RELEASED=yes BLOOMLINE_SO=$target_dir/$target/release/libbloomline.so \
        BLOOMLINE_SERVERS=${BLOOMLINE_SERVERS:-$PWD/.servers} \
        cargo test --locked --workspace --features audit --test install -- "$@"
}

# server_tests PLATFORM ARGUMENT...: runs server tests with the module of the target on the servers
# of that platform.
server_tests() {
    local platform=$1
    shift
    scripts/servers.sh --platform "$platform"
    scripts/cargo-for.sh "$target" build --release --lib
    BLOOMLINE_SO=$target_dir/$target/release/libbloomline.so \
        BLOOMLINE_SERVERS=$PWD/.servers-$platform \
        BLOOMLINE_REQUIRED_SERVERS=$(cd ".servers-$platform" && echo *) \
        cargo test --locked --workspace --features audit --test server -- "$@"
}

arm64() {
    # Bytes, sizes and backends. Left out: what takes minutes under qemu, or needs pages without
    # memory behind them, which it does not have. Redis is left out too, because it takes as long
    # again: scripts/servers.sh --platform arm64 redis-8.0 fetches it.
    CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu" \
        scripts/cargo-for.sh "$target" test -p bloomline-core --test bloom --test memory -- \
        golden:: header codec:: sizing:: recorded:: chunks:: fold:: bits:: words:: reference:: \
        --skip expansion:: --skip untouched::
    BLOOMLINE_CC=aarch64-linux-gnu-gcc server_tests arm64 \
        commands:: entry_points:: replication:: redisbloom:: hostile:: \
        --skip commands::bulk --skip commands::compact --skip commands::merge \
        --skip commands::window --skip chains:: --skip clocks:: --skip compacting:: \
        --skip generations:: --skip merging:: --skip packed_items:: --skip rotations:: \
        --skip several_chunks --skip hostile::sizes:: --skip take_little_memory
    (packed arm64)
    install_tests machine_code::the_module_needs
}

# packed MACHINE: fails unless archive and Debian package hold the module of that machine, and its
# server loads it. Call it in a subshell, at whose end the server is stopped.
packed() {
    local machine=$1 server=.servers-$1/valkey-8.1 dist=$folder/dist started
    export DIST=$dist BLOOMLINE_SO=$target_dir/$target/release/libbloomline.so
    scripts/archive.sh
    scripts/deb.sh
    [ "$(dpkg-deb --field "$dist"/*_"$machine".deb Architecture)" = "$machine" ]
    tar -xzf "$dist"/bloomline-*-"$target".tar.gz -C "$folder" --wildcards '*/bloomline.so'
    dpkg-deb --fsys-tarfile "$dist"/*_"$machine".deb |
        tar -x -C "$folder" ./usr/lib/redis/modules/bloomline.so
    readelf -h "$folder"/bloomline-*/bloomline.so "$folder"/usr/lib/redis/modules/bloomline.so |
        grep -c AArch64 | grep -qx 2
    started=$SECONDS
    trap 'kill "$(cat "$folder/pid")"' EXIT
    "$server/server" --port 0 --unixsocket "$folder/socket" --save '' --daemonize yes \
        --pidfile "$folder/pid" --dir "$folder" \
        --loadmodule "$folder/usr/lib/redis/modules/bloomline.so"
    until [ "$("$server/cli" -s "$folder/socket" PING 2>/dev/null)" = PONG ]; do
        [ "$SECONDS" -lt $((started + 300)) ] || return 1
    done
    [ "$("$server/cli" -s "$folder/socket" BF.ADD seen user1)" = 1 ]
}

# Left out: used_memory, which a server with musl only estimates.
musl() {
    BLOOMLINE_CC=musl-gcc server_tests musl \
        commands:: entry_points:: replication:: hostile:: keyspace:: limits:: windows:: \
        --skip hostile::sizes::
}

# So that code for macOS does not break unnoticed. Apple's headers are not available: bindgen reads
# those of this machine, and the C file is compiled for Linux. A check does not link it.
compile() {
    cargo check --locked -p bloomline-core --target "$target"
    SDKROOT=/ CRATE_CC_NO_DEFAULTS=1 \
        CC_aarch64_apple_darwin=aarch64-linux-gnu-gcc \
        AR_aarch64_apple_darwin=aarch64-linux-gnu-ar \
        BINDGEN_EXTRA_CLANG_ARGS_aarch64_apple_darwin="--target=$(uname -m)-linux-gnu" \
        cargo check --locked --lib --target "$target"
}

# Two builds of the same files, in folders of different names and with other target folders.
reproducible() {
    local copy=$folder/another/folder
    copy_to "$copy"
    scripts/cargo-for.sh "$target" build --release --lib
    env -u CARGO_TARGET_DIR "$copy/scripts/cargo-for.sh" "$target" build --release --lib
    cmp "$target_dir/$target/release/libbloomline.so" \
        "$copy/target/$target/release/libbloomline.so"
}

# copy_to FOLDER: copies what git has or would add.
copy_to() {
    mkdir -p "$1"
    git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$1"
}

# In a copy, because `make` writes bloomline.so beside itself.
oldest() {
    local version
    version=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
    if ! timeout 300 rustup toolchain install "$version" --profile minimal; then
        not_run "oldest" "rustup cannot fetch Rust $version"
        return
    fi
    scripts/servers.sh
    copy_to "$folder/oldest"
    RUSTUP_TOOLCHAIN=$version CARGO_TARGET_DIR=$target_dir/oldest BLOOMLINE_SERVERS=$PWD/.servers \
        make -C "$folder/oldest" test
}

bare() {
    local system status
    if [ "$(id -u)" != 0 ]; then
        not_run "bare" "only root can enter another root folder"
        return
    fi
    for system in bookworm trixie noble; do
        status=0
        scripts/bare.sh "$system" || status=$?
        case $status in
        0) ;;
        3) not_run "bare: $system" "no mirror has this system" ;;
        *) return "$status" ;;
        esac
    done
}

# not_run NAME REASON: reports it at once, and again at the end.
missing=()
not_run() {
    missing+=("$1: $2")
    echo "platforms: NOT RUN: ${missing[-1]}" >&2
}

# target_of PART: prints the target whose library the part needs.
target_of() {
    case $1 in
    arm64) echo aarch64-unknown-linux-gnu ;;
    glibc | reproducible) echo x86_64-unknown-linux-gnu ;;
    musl) echo x86_64-unknown-linux-musl ;;
    compile) echo aarch64-apple-darwin ;;
    esac
}

# groups_of PART: prints the groups of scripts/deps.sh that the part needs.
groups_of() {
    echo build
    case $1 in
    glibc) echo servers install ;;
    arm64) echo servers install cross ;;
    musl) echo servers ;;
    compile) echo cross ;;
    oldest) echo test servers ;;
    bare) echo bare ;;
    esac
    case $1 in
    compile | oldest | bare) ;;
    *) target_of "$1" ;;
    esac
}

[ $# -gt 0 ] || set -- glibc arm64 musl compile reproducible oldest bare
read -ra groups < <(for part in "$@"; do groups_of "$part"; done | paste -sd ' ')
scripts/deps.sh "${groups[@]}"
for part in "$@"; do
    start=$SECONDS target=$(target_of "$part")
    if [ -n "$target" ] && ! timeout 120 rustup target add "$target"; then
        not_run "$part" "rustup cannot fetch the library of $target"
        continue
    fi
    "$part"
    echo "platforms: $part took $((SECONDS - start)) s"
done
for name in "${missing[@]}"; do echo "platforms: NOT RUN: $name"; done
