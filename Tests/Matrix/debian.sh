#!/usr/bin/env bash
# Debian 13 in a chroot, with its own libcurl and glibc: debian.sh --prepare creates it once, outside the checkout;
# debian.sh FOLDER PROGRAM ARGUMENTS… runs a program of this machine in it. The program sees the checkout, Swift's
# libraries and FOLDER at the same paths as here. Prints a reason and exits with 3 if the chroot cannot be created.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
root="$(cd "$here/../.." && pwd)"
cache="${EKNETWORK_CACHE:-$HOME/.cache/eknetwork}"
system="$cache/debian-13"
# The scripts of Tests/Peers run inside as well.
packages="libcurl4t64,libbrotli1,libzstd1,libstdc++6,zlib1g,ca-certificates,netbase,tzdata,python3-minimal"
packages="$packages,python3-cryptography,python3-cffi-backend,python3-h2,python3-websockets,python3-aiohttp,python3-werkzeug"
packages="$packages,python3-hypercorn,python3-sse-starlette,nginx-light"

absent() {
  echo "$1"
  exit 3
}

prepare() {
  [ ! -e "$system/ready" ] || return 0
  [ "$(id -u)" = 0 ] || absent "chroot requires root"
  unshare --mount true 2>/dev/null || absent "mount namespaces are not permitted on this machine"
  command -v debootstrap >/dev/null || DEBIAN_FRONTEND=noninteractive apt-get install -y -qq debootstrap >/dev/null 2>&1 \
    || absent "debootstrap is not available"
  # The archive that this machine uses.
  local archive
  archive="$(sed -nE 's#^(URIs:|deb( \[[^]]*\])?) +(https?://[^ ]+/debian)/?( .*)?$#\3#p' /etc/apt/sources.list \
    /etc/apt/sources.list.d/* 2>/dev/null | head -n 1 || true)" # sed fails if one of the files is missing
  [ -n "$archive" ] || absent "no Debian archive is configured on this machine"
  local making
  mkdir -p "$cache"
  making="$(mktemp -d "$system.XXXX")"
  if ! debootstrap --variant=minbase --include="$packages" trixie "$making" "$archive" >"$making.log" 2>&1; then
    local reason
    reason="the archive is not available: $(tail -n 1 "$making.log")"
    rm -rf "$making" "$making.log"
    absent "$reason"
  fi
  rm -rf "$making.log" "$making"/var/cache/apt/archives/*.deb
  cp /etc/hosts "$making/etc/hosts"
  chmod 755 "$making"
  touch "$making/ready"
  mv "$making" "$system"
}

if [ "${1:-}" = --prepare ]; then
  prepare
  exit 0
fi
folder="$1"
shift
runtime="$(dirname "$(dirname "$(readlink -f "$(command -v swift)")")")"
# A mount namespace of its own, which ends with the process.
exec unshare --mount --fork --kill-child bash -c '
  set -e
  system="$1"; shift
  count="$1"; shift
  # First, because the following mounts may be below it.
  mount -t tmpfs tmpfs "$system/tmp"
  mount -t proc proc "$system/proc"
  while [ "$count" -gt 0 ]; do
    mkdir -p "$system$1"
    mount --rbind "$1" "$system$1"
    shift
    count=$((count - 1))
  done
  unset LD_LIBRARY_PATH
  export HOME=/root TMPDIR=/tmp EKNETWORK_PEERS_PYTHON=/usr/bin/python3
  exec chroot "$system" "$@"
' bash "$system" 4 "$root" "$runtime" "$folder" /dev "$@"
