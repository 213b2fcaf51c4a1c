#!/usr/bin/env bash
# Builds all files of a release in DIST (dist/), for every platform that this machine can build for:
#   bloomline-VERSION-TARGET.tar.gz            the module, for each target
#   bloomline-VERSION-TARGET-symbols.tar.gz    its symbols for debuggers
#   bloomline-VERSION-py3-none-PLATFORM.whl    wheels of Python, with the module and without
#   bloomline_VERSION_MACHINE.deb              packages for Debian and its derivatives
#   bloomline-VERSION.tar.gz                   the source code, as it is committed
#   bloomline-VERSION.cdx.json                 the crates in the module, as CycloneDX
#   NOTES.md                                   the text of the release page
#   SHA256SUMS
# What it cannot build is named at the end, and is not an error.
set -euo pipefail
cd "$(dirname "$0")/.."
target_dir=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export DIST=${DIST:-dist}
missing=()
wheels=()

scripts/deps.sh build install
scripts/deps.sh release || true
scripts/deps.sh sbom || true
mkdir -p "$DIST"
DIST=$(realpath "$DIST")
version=$(sed -n 's/^version = "\(.*\)"/\1/p;/^version/q' Cargo.toml)

for target in {x86_64,aarch64}-unknown-linux-gnu x86_64-unknown-linux-musl; do
    if ! scripts/cargo-for.sh "$target" build --release --lib; then
        missing+=("$target")
        continue
    fi
    export BLOOMLINE_SO=$target_dir/$target/release/libbloomline.so
    scripts/archive.sh
    # Debian has glibc.
    case $target in *-gnu)
        scripts/deb.sh
        wheels+=("$target")
        ;;
    esac
done
# Without BLOOMLINE_SO and BLOOMLINE_PLAN the wheels are those of the targets.
env -u BLOOMLINE_SO -u BLOOMLINE_PLAN scripts/wheel.sh "${wheels[@]}"

# What is in the module, for those who check their dependencies: CycloneDX.
if cargo cyclonedx --version >/dev/null 2>&1; then
    SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)} \
        cargo cyclonedx --quiet --format json --override-filename bloomline-sbom --target all
    # Without the folder of this machine.
    sed "s#file://$PWD#file:///bloomline#g" bloomline-sbom.json >"$DIST/bloomline-$version.cdx.json"
    find . -name bloomline-sbom.json -not -path './target/*' -delete
else
    missing+=("list of the crates (cargo-cyclonedx)")
fi

if git rev-parse --verify --quiet HEAD >/dev/null; then
    git archive --prefix="bloomline-$version/" HEAD | gzip -n -9 >"$DIST/bloomline-$version.tar.gz"
else
    missing+=("source code (no git repository)")
fi
# The section of this version in the changelog.
sed -n "/^## \[$version\]/,/^## \[/{/^## \[/d;p}" CHANGELOG.md >"$DIST/NOTES.md"

scripts/sums.sh
for name in "${missing[@]}"; do echo "dist: NOT BUILT: $name" >&2; done
