#!/usr/bin/env bash
# Writes packaging/THIRD-PARTY-LICENSES.txt: the licences of the code in the module and in the
# program of `bloomline plan`, which archives, packages and wheels bring along. It is checked in, and
# a test compares its crates with Cargo.lock. This needs `cargo install --locked cargo-about
# --features cli`.
set -euo pipefail
cd "$(dirname "$0")/.."

# licences MANIFEST: those of the crates of a package.
licences() {
    cargo about generate --locked --manifest-path "$1" --config "$work/about.toml" \
        packaging/about.hbs
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sed -n '/^allow = \[/,/^\]/s/^allow/accepted/;/^accepted/,/^\]/p' deny.toml >"$work/about.toml"
cat packaging/about.toml >>"$work/about.toml"
{
    cat <<'END'
Bloomline contains code of the Rust crates that are named here, and of the Rust standard library
(MIT License or Apache License 2.0; its contributors retain their copyrights). The module for musl
also contains LLVM's libunwind (Apache License 2.0 with LLVM exceptions).

The module
==========
END
    licences Cargo.toml
    cat <<'END'

The program of `bloomline plan`
===============================
END
    licences tools/Cargo.toml
} >"$work/licences"
cp "$work/licences" packaging/THIRD-PARTY-LICENSES.txt
