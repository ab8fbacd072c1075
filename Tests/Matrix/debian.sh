#!/usr/bin/env bash
# Debian 13 in a folder, with its own libcurl and glibc: debian.sh --prepare makes it, once, outside of the checkout;
# debian.sh FOLDER PROGRAM ARGUMENTS… runs a program of this machine in it. The program sees the checkout, Swift's
# libraries and FOLDER where they are here. Ends with 3, and a reason, where it cannot be had.
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
  [ "$(id -u)" = 0 ] || absent "only the superuser can enter another system"
  unshare --mount true 2>/dev/null || absent "this machine does not let a process have mounts of its own"
  command -v debootstrap >/dev/null || DEBIAN_FRONTEND=noninteractive apt-get install -y -qq debootstrap >/dev/null 2>&1 \
    || absent "debootstrap is not to be had"
  # The archive that this machine uses itself.
  local archive
  archive="$(sed -nE 's#^(URIs:|deb( \[[^]]*\])?) +(https?://[^ ]+/debian)/?( .*)?$#\3#p' /etc/apt/sources.list \
    /etc/apt/sources.list.d/* 2>/dev/null | head -n 1 || true)" # sed fails where one of the files is not there
  [ -n "$archive" ] || absent "this machine knows no archive of Debian's"
  local making
  mkdir -p "$cache"
  making="$(mktemp -d "$system.XXXX")"
  if ! debootstrap --variant=minbase --include="$packages" trixie "$making" "$archive" >"$making.log" 2>&1; then
    local reason
    reason="the archive cannot be had: $(tail -n 1 "$making.log")"
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
# Its own mounts, which end with it.
exec unshare --mount --fork --kill-child bash -c '
  set -e
  system="$1"; shift
  count="$1"; shift
  # First, because what follows may be below it.
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
