#!/usr/bin/env bash
# Writes SHA256SUMS of the files of a release in DIST (dist/), in the form that `sha256sum -c` reads.
set -euo pipefail
cd "$(dirname "$0")/.."
cd "${DIST:-dist}"

shopt -s nullglob
LC_ALL=C sha256sum -- *.deb *.whl *.tar.gz *.json >SHA256SUMS.new
mv -f SHA256SUMS.new SHA256SUMS
cat SHA256SUMS
