#!/usr/bin/env bash
# Sends invalid responses over HTTP/1.1, TLS and HTTP/2 to real requests of the library, which runs on libcurl built with
# the address sanitizer:
#   responses.sh [COUNT [SEED [VERSION…]]]       COUNT responses on each version; with RESPONSES_ONLY=http2 over HTTP/2 alone
#   responses.sh --replay VERSION SEED FIRST COUNT   repeats the part that was printed with a failure
# Requires the sources of libcurl next to the checkout (../shared/libcurl), and a build of the tests.
set -euo pipefail
cd "$(dirname "$0")/../.."
libraries="../shared/libcurl"
cache="${EKNETWORK_CACHE:-$HOME/.cache/eknetwork}/libcurl-asan"
work="$PWD/.build/responses"
mkdir -p "$work"

python="$PWD/.build/peers/bin/python"
[ -x "$python" ] || python=python3
"$python" -c 'import h2, cryptography' || {
  echo "h2 and cryptography are missing"
  exit 1
}

# Links against the last build of the library: this avoids compiling it again and needs no product in its package.
built="$(swift build --show-bin-path)"
maps=()
for map in "$built"/{CCurl,CZlib}.build/module.modulemap; do
  if [ -f "$map" ]; then maps+=(-Xcc "-fmodule-map-file=$map"); fi
done
# Not the folder's contents, which include objects of deleted sources.
mapfile -t objects < <(grep -E '/(EKNetwork|CCurl|CZlib)\.build/' "$built/EKNetworkDemo.product/Objects.LinkFileList")
swiftc -swift-version 6 -parse-as-library -Onone -g -warnings-as-errors -module-name Responses -I "$built/Modules" \
  -I Sources/CCurl/include -I Sources/CZlib/include "${maps[@]}" Tests/Fuzz/Responses/Client.swift \
  "${objects[@]}" -o "$work/client"

# Builds each version once.
library() {
  [ -f "$cache/$1/libcurl.so.4" ] || bash "$libraries/build.sh" "$1" "$cache/$1" --asan >"$work/build-$1.log" 2>&1 || {
    cat "$work/build-$1.log"
    return 1
  }
}

if [ "${1:-}" = --replay ]; then
  library "$2"
  exec "$python" Tests/Fuzz/Responses/run.py "$work/client" "$cache" --seed "$3" --first "$4" --part "$5" --count "$5" "$2"
fi
count="${1:-100000}"
seed="${2:-1}"
versions=("${@:3}")
[ "${#versions[@]}" -gt 0 ] || versions=(7.76.1 7.88.1 8.21.0)
for version in "${versions[@]}"; do library "$version"; done
exec "$python" Tests/Fuzz/Responses/run.py "$work/client" "$cache" --seed "$seed" --count "$count" "${versions[@]}"
