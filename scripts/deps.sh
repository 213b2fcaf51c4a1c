#!/usr/bin/env bash
# Installs what is missing to build, run, test or lint. Does nothing if nothing is missing.
#
#   scripts/deps.sh [build|plan|run|test|clients|servers|install|lint|release|sbom|cross|bare|fuzz|
#                    deep|deny|miri|wasm|browser|TARGET]...
#
# TARGET is one of scripts/cargo-for.sh: what a build for that platform needs. release is all of
# them.
#
# Without an argument: build, run, test, servers, install and lint.
#
# On Debian and its derivatives apt-get installs the packages (as root, or with a sudo that needs no
# password). Elsewhere the script prints the packages with the purpose of each, and its exit status
# is 1.
set -euo pipefail

missing=()

# need PACKAGES WHY PROBE...: adds the Debian packages to the missing ones if the probe fails.
need() {
    local packages=$1 why=$2
    shift 2
    if ! "$@" >/dev/null 2>&1; then
        missing+=("$packages|$why")
    fi
}

# bindgen loads libclang at build time, and libclang needs its own stddef.h. If only stddef.h is
# missing, the build fails late with "'stddef.h' file not found".
has_libclang() {
    local dir prefix
    if [ -n "${LIBCLANG_PATH:-}" ]; then
        return 0
    fi
    for dir in /usr/lib/llvm-*/lib /usr/lib/*-linux-gnu /usr/lib64 /usr/lib /usr/local/lib; do
        compgen -G "$dir/libclang*.so*" >/dev/null || continue
        for prefix in /usr/lib/llvm-*/lib /usr/lib64 /usr/lib /usr/local/lib; do
            compgen -G "$prefix/clang/*/include/stddef.h" >/dev/null && return 0
        done
    done
    return 1
}

# gcc without libc's headers compiles nothing, so the probe compiles a file that needs them.
has_compiler() {
    echo '#include <stdlib.h>' | cc -x c -fsyntax-only -
}

has_arm64_compiler() {
    echo '#include <stdlib.h>' | aarch64-linux-gnu-gcc -x c -fsyntax-only -
}

has_musl_compiler() {
    echo '#include <stdlib.h>' | musl-gcc -x c -fsyntax-only -
}

# cargo and apt on Debian read this file; other systems have their certificates elsewhere.
has_certificates() {
    [ ! -e /etc/debian_version ] || [ -e /etc/ssl/certs/ca-certificates.crt ]
}

has_venv() {
    python3 -c 'import ensurepip, venv'
}

has_server() {
    command -v redis-server || command -v valkey-server || command -v redis-check-rdb ||
        compgen -G "$(dirname "$0")/../.servers/*/server"
}

# Predis is a folder in PHP's include path.
has_predis() {
    php -r 'exit((int) !stream_resolve_include_path("Predis/Autoloader.php"));'
}

# Go finds Debian's packages of libraries below /usr/share/gocode.
has_redigo() {
    env GO111MODULE=off GOPATH=/usr/share/gocode go list github.com/gomodule/redigo/redis
}

has_hiredis() {
    printf '#include <hiredis/hiredis.h>\nint main(void) { redisFree(0); }\n' |
        cc -x c - -lhiredis -o /dev/null
}

has_lint_tools() {
    cargo fmt --version && cargo clippy --version
}

has_wasm_target() {
    [ -d "$(rustc --print sysroot)/lib/rustlib/wasm32-unknown-unknown" ]
}

has_browser() {
    command -v chromium && command -v chromedriver
}

has_cargo_fuzz() {
    cargo fuzz --version
}

has_asan_runtime() {
    compgen -G "/usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.asan-x86_64.so"
}

debian_libclang() {
    # The two small packages are enough if the version is known; libclang-dev installs all of LLVM.
    if grep -qs 'VERSION_CODENAME=bookworm' /etc/os-release; then
        echo libclang1-14 libclang-common-14-dev
    else
        echo libclang-dev
    fi
}

# The oldest Rust that compiles the module and passes its tests.
oldest_rust=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$(dirname "$0")/../Cargo.toml")

# is_new_enough VERSION: true if it is the oldest Rust or a newer one.
is_new_enough() {
    printf '%s\n' "$oldest_rust" "$1" | sort -CV
}

# rust_package: prints the name of a package of this system with a Rust that is new enough.
# cargo-web is that of Debian 12 and 13, where cargo is older; Ubuntu has packages for several
# versions.
rust_package() {
    local name version
    command -v apt-cache >/dev/null || return 0
    while read -r name version; do
        if is_new_enough "$version"; then
            echo "$name"
            return
        fi
    done < <({
        printf 'cargo\ncargo-web\n'
        apt-cache pkgnames | grep -x 'cargo-[0-9.]*' | sort -rV
    } | while read -r name; do
        echo "$name $(apt-cache policy "$name" | sed -n 's/^  Candidate: \([0-9]\)/\1/p')"
    done)
}

# need_rust: adds a package with Rust to the missing ones if there is none. One that is too old is
# the user's, so it is not replaced.
need_rust() {
    local version package
    if command -v cargo >/dev/null; then
        version=$(rustc --version | cut -d ' ' -f 2) || version=none
        is_new_enough "$version" && return
        echo "deps: this needs Rust $oldest_rust or newer; rustc on PATH is $version:" \
            "'rustup default stable' or 'rustup update stable', if it is that of rustup" >&2
        exit 1
    fi
    package=$(rust_package)
    # A new machine may have no lists of packages.
    if [ -z "$package" ] && command -v apt-get >/dev/null && as_root true 2>/dev/null; then
        as_root apt-get update -qq
        package=$(rust_package)
    fi
    if [ -z "$package" ]; then
        echo "deps: cargo is missing: install Rust $oldest_rust or newer, for example by rustup" >&2
        exit 1
    fi
    need "$package" "Rust $oldest_rust or newer: the compiler" false
}

probe() {
    case $1 in
    build)
        need "make" "make: builds, tests and installs by its targets" make --version
        need "gcc libc6-dev" "a C compiler: the redis-module crate compiles one C file" has_compiler
        need "$(debian_libclang)" \
            "libclang with its headers: bindgen reads redismodule.h with it" has_libclang
        need "ca-certificates" "certificates: cargo fetches crates over TLS" has_certificates
        ;;
    plan)
        need "gcc libc6-dev" "a C compiler: Rust links with it" has_compiler
        need "ca-certificates" "certificates: cargo fetches crates over TLS" has_certificates
        ;;
    run)
        # redis-tools contains the server's program, without the service of redis-server.
        need "redis-tools" "a Redis or Valkey server to load the module into, and redis-cli" \
            has_server
        ;;
    test)
        need "python3 python3-venv" "Python with venv: tests of client libraries" has_venv
        ;;
    clients)
        need "php-cli php-redis" "PHP with phpredis: tests of this client" php --ri redis
        need "php-nrk-predis" "Predis: tests of this client for PHP" has_predis
        need "ruby ruby-redis" "Ruby with redis-rb: tests of this client" ruby -rredis -e ''
        need "golang-go golang-github-gomodule-redigo-dev" "Go with redigo: tests of this client" \
            has_redigo
        need "gcc libc6-dev" "a C compiler: the test of hiredis" has_compiler
        need "libhiredis-dev" "hiredis: tests of this client for C" has_hiredis
        ;;
    servers)
        need "make" "make: builds the servers" make --version
        need "gcc libc6-dev" "a C compiler: the servers that are built from source" has_compiler
        need "xz-utils" "xz: unpacks Valkey's source" xz --version
        ;;
    install)
        need "binutils" "objdump and strip: packages and the facts in them" objdump --version
        need "dpkg" "dpkg-deb: packages for Debian" dpkg-deb --version
        need "qemu-user" "qemu: runs the module on other processors" command -v qemu-x86_64
        ;;
    lint)
        need "python3 python3-venv" "Python with venv: linters that are Python packages" has_venv
        need "shellcheck" "shellcheck: checks the scripts" shellcheck --version
        if ! has_lint_tools >/dev/null 2>&1; then
            rustup component add rustfmt clippy
        fi
        ;;
    release)
        local target
        for target in {x86_64,aarch64}-unknown-linux-gnu x86_64-unknown-linux-musl; do
            probe "$target"
        done
        ;;
    x86_64-unknown-linux-gnu | aarch64-unknown-linux-gnu)
        local machine=${1%%-*}
        # Zig and cargo-zigbuild come from PyPI; scripts/cargo-for.sh fetches them.
        need "python3 python3-venv" "Python with venv: the linker of releases is a Python package" \
            has_venv
        [ "$machine" = "$(uname -m)" ] ||
            need "binutils-${machine//_/-}-linux-gnu" \
                "strip and objcopy for $machine: packages for it" \
                "$machine-linux-gnu-strip" --version
        ;;
    x86_64-unknown-linux-musl)
        need "musl-tools" "musl and its compiler: builds for Alpine" has_musl_compiler
        ;;
    sbom)
        # It compiles for minutes, so only this group installs it. The version is pinned: the file is
        # part of a release.
        cargo cyclonedx --version >/dev/null 2>&1 ||
            cargo install --quiet --locked cargo-cyclonedx@0.5.9
        ;;
    cross)
        need "gcc-aarch64-linux-gnu libc6-dev-arm64-cross" \
            "a compiler and the C library for arm64: modules of tests, and qemu" has_arm64_compiler
        need "qemu-user" "qemu: runs programs for arm64" command -v qemu-aarch64
        ;;
    fuzz)
        need "g++" "a C++ compiler: libFuzzer is C++" c++ --version
        # It compiles for minutes, so only this group installs it.
        has_cargo_fuzz >/dev/null 2>&1 || cargo install --quiet --locked cargo-fuzz
        ;;
    bare)
        need "debootstrap" "debootstrap: the smallest systems of Debian and Ubuntu" \
            command -v debootstrap
        ;;
    deep)
        # Without libc's symbols valgrind refuses to start a program.
        need "valgrind libc6-dbg" "valgrind: checks every access to memory" valgrind -q true
        need "libclang-rt-14-dev" \
            "the sanitizer's runtime as a library, for a server that was built without it" \
            has_asan_runtime
        ;;
    deny)
        cargo deny --version >/dev/null 2>&1 || cargo install --quiet --locked cargo-deny
        ;;
    miri)
        if ! cargo +nightly miri --version >/dev/null 2>&1; then
            # Some 100 MB. Without rustup, or with a slow connection, Miri is skipped.
            timeout 300 rustup toolchain install nightly --profile minimal \
                --component miri,rust-src || true
        fi
        ;;
    wasm)
        # Without rustup another package of the system may have brought the target.
        has_wasm_target || timeout 300 rustup target add wasm32-unknown-unknown >&2 || true
        ;;
    browser)
        need "chromium chromium-driver fonts-liberation" \
            "Chromium and chromedriver: the tests of docs/calculator" has_browser
        ;;
    *)
        echo "deps: unknown group '$1'; the groups are" \
            "build, plan, run, test, clients, servers, install, lint, release, sbom, cross, bare," \
            "fuzz, deep, deny, miri, wasm, browser, and the targets of scripts/cargo-for.sh" >&2
        exit 2
        ;;
    esac
}

# as_root COMMAND...: runs the command as root, or fails without a password prompt.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo -n "$@"
    fi
}

apt_install() {
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends \
        -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@"
}

name_packages() {
    local entry
    echo "deps: these are missing:" >&2
    for entry in "${missing[@]}"; do
        printf '  %s\n      (Debian: %s)\n' "${entry#*|}" "${entry%%|*}" >&2
    done
    if command -v apt-get >/dev/null; then
        echo "deps: install them, then try again: sudo apt-get install ${packages[*]}" >&2
    else
        echo "deps: install them, then try again" >&2
    fi
}

[ $# -gt 0 ] || set -- build run test servers install lint
need_rust
for group in "$@"; do
    probe "$group"
done
[ ${#missing[@]} -gt 0 ] || exit 0

packages=()
for entry in "${missing[@]}"; do
    read -ra names <<<"${entry%%|*}"
    packages+=("${names[@]}")
done
if ! command -v apt-get >/dev/null || ! as_root true 2>/dev/null; then
    name_packages
    exit 1
fi

echo "deps: installing ${packages[*]}"
# If the package lists are missing or out of date, the first install fails.
if ! apt_install "${packages[@]}" >/dev/null 2>&1; then
    as_root apt-get update -qq
    apt_install "${packages[@]}" >/dev/null
fi
