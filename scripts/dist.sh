#!/usr/bin/env bash
# Builds all files of a release in DIST (dist/), for every platform that this machine can build for.
# What it cannot build is named at the end, and is not an error.
set -euo pipefail
cd "$(dirname "$0")/.."
target_dir=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export DIST=${DIST:-dist}
missing=()

scripts/deps.sh build install
scripts/deps.sh cross || true
mkdir -p "$DIST"
for target in {x86_64,aarch64}-unknown-linux-gnu x86_64-unknown-linux-musl; do
    if ! scripts/cargo-for.sh "$target" build --release --lib; then
        missing+=("$target")
        continue
    fi
    export BLOOMLINE_SO=$target_dir/$target/release/libbloomline.so
    scripts/archive.sh
    # Debian has glibc.
    case $target in *-gnu) scripts/deb.sh ;; esac
done

# What is in the module, for those who check their dependencies: CycloneDX.
if cargo cyclonedx --version >/dev/null 2>&1; then
    version=$(sed -n 's/^version = "\(.*\)"/\1/p;/^version/q' Cargo.toml)
    SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)} \
        cargo cyclonedx --quiet --format json --override-filename bloomline-sbom --target all
    # Without the folder of this machine.
    sed "s#file://$PWD#file:///bloomline#g" bloomline-sbom.json >"$DIST/bloomline-$version.cdx.json"
    find . -name bloomline-sbom.json -not -path './target/*' -delete
else
    missing+=("list of the crates (cargo install --locked cargo-cyclonedx)")
fi

scripts/sums.sh
for name in "${missing[@]}"; do echo "dist: NOT BUILT: $name" >&2; done
