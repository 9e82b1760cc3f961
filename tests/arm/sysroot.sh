#!/bin/sh
# Unpacks Debian's arm64 libraries below the folder given, for `make test-arm`.
#
# Why not `dpkg --add-architecture`: that changes the whole machine and needs root, and some development
# packages exclude the same package of another architecture. A list of packages of its own changes nothing.
set -eu

sysroot=$1
shift
apt=$sysroot.apt
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")

mkdir -p "$sysroot" "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/state" "$apt/sources"
: > "$apt/status"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" > "$apt/sources/debian.list"

arm_apt() {
  apt-get -qq -o Dir::State="$apt/state" -o Dir::State::lists="$apt/lists" -o Dir::State::status="$apt/status" \
    -o Dir::Cache="$apt/cache" -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$apt/sources" \
    -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Acquire::Languages=none "$@"
}
arm_apt update
arm_apt install -y --no-install-recommends --download-only "$@"
for package in "$apt"/cache/archives/*.deb; do dpkg-deb -x "$package" "$sysroot"; done

# Absolute links would lead out of the sysroot.
find "$sysroot" -type l -lname '/*' | while read -r link; do
  ln -snf "$sysroot$(readlink "$link")" "$link"
done
rm -rf "$apt"
