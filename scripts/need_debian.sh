#!/usr/bin/env bash
# Make sure that programs from Debian packages of the same name are here: need_debian.sh strace
#
# Root installs what is missing; anybody else is told what to install.
set -euo pipefail

PATH=$PATH:/usr/sbin # Not on everybody's.
missing=()
for package in "$@"; do
    command -v "$package" >/dev/null || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null; then
    echo "Missing: ${missing[*]}. Install them with your system's package manager." >&2
    exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
    echo "Missing: ${missing[*]}. Run: sudo apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
fi
echo "installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null
