# What packages say of the module; sourced by the scripts that make them, from the top folder.
# shellcheck shell=bash disable=SC2034

so=${BLOOMLINE_SO:-bloomline.so}
dist=${DIST:-dist}
version=$(sed -n 's/^version = "\(.*\)"/\1/p;/^version/q' Cargo.toml)

if [ ! -f "$so" ]; then
    echo "no module at $so; run \`make build\` first" >&2
    exit 1
fi

# Asked of the file, not of this machine.
case $(objdump -f "$so") in
*elf64-x86-64*) machine=x86_64 debian_machine=amd64 ;;
*elf64-littleaarch64*) machine=aarch64 debian_machine=arm64 ;;
*)
    echo "$so is for a machine that packages are not made for" >&2
    exit 1
    ;;
esac

# The newest version of a symbol that it asks of the C library: older ones can't load it.
glibc=$(objdump -T "$so" | grep -oE 'GLIBC_[0-9.]+' | sort -Vu | tail -n 1 | cut -d_ -f2)

# Archives of the same module are equal byte for byte, whoever makes them, whenever.
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
    SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || echo 315532800)
fi
export SOURCE_DATE_EPOCH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022
mkdir -p "$dist"
