# Names and versions for the packages. The scripts that build packages source this file from the top
# folder of the repository.
# shellcheck shell=bash disable=SC2034

so=${BLOOMLINE_SO:-bloomline.so}
dist=${DIST:-dist}
version=$(sed -n 's/^version = "\(.*\)"/\1/p;/^version/q' Cargo.toml)

if [ ! -f "$so" ]; then
    echo "no module at $so; run \`make build\` first" >&2
    exit 1
fi

# The field Maintainer of the Debian package. Whoever publishes packages sets BLOOMLINE_MAINTAINER
# to "Name <user@domain>" with an address that receives mail. The project has no address, so the
# default has none.
maintainer=${BLOOMLINE_MAINTAINER:-The authors of Bloomline}

# The architecture of the module file, which may differ from that of this machine. readelf reads all.
case $(readelf -h "$so") in
*"Advanced Micro Devices X86-64"*) machine=x86_64 debian_machine=amd64 ;;
*AArch64*) machine=aarch64 debian_machine=arm64 ;;
*)
    echo "$so: no package can be built for its architecture, only for x86-64 and AArch64" >&2
    exit 1
    ;;
esac

# The tools that change such a file.
binutils=
[ "$machine" = "$(uname -m)" ] || binutils=$machine-linux-gnu-
export STRIP=${binutils}strip OBJCOPY=${binutils}objcopy

# The C library, and the newest symbol version that the module requires of glibc. An older library
# cannot load the module.
libc=musl glibc=''
if readelf -d "$so" | grep -F '[libc.so.6]' >/dev/null; then
    libc=gnu
    glibc=$(readelf -W --version-info "$so" | grep -oE 'GLIBC_[0-9.]+' | sort -Vu | tail -n 1 |
        cut -d_ -f2)
fi

# With a fixed time, packages of the same module are equal byte for byte whenever they are built.
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
    SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || echo 315532800)
fi
export SOURCE_DATE_EPOCH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022
mkdir -p "$dist"
