#!/usr/bin/env bash
# Runs the code that parses numbers sent by a server with 32-bit integers, as on some watches, by compiling it to WebAssembly.
set -euo pipefail
cd "$(dirname "$0")/../.."
toolchain="${SWIFT_TOOLCHAIN:-$(dirname "$(dirname "$(dirname "$(readlink -f "$(command -v swiftc)")")")")}/usr"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
library=Sources/EKNetwork
"$toolchain/bin/swiftc" -parse-as-library -target wasm32-unknown-none-wasm -enable-experimental-feature Embedded \
  -wmo -Onone -c -o "$folder/values.o" \
  "$library"/WebSocket/Frames/FrameHeader.swift \
  "$library"/WebSocket/WebSocketCloseCode.swift "$library"/Transport/{Cookies/CookieDate,SubjectPublicKey}.swift \
  "$library"/HTTP/GregorianCalendar.swift \
  Tests/Apple/narrow/main.swift
"$toolchain/bin/clang" -target wasm32-unknown-none-wasm -O1 -ffreestanding -fno-builtin -c -o "$folder/memory.o" Tests/Apple/narrow/memory.c
"$toolchain/bin/wasm-ld" --no-entry --export=__stack_pointer -o "$folder/values.wasm" "$folder"/*.o \
  "$toolchain/lib/swift/embedded/wasm32-unknown-none-wasm/libswiftUnicodeDataTables.a"
run() { "$toolchain/bin/wasmkit" run "$folder/values.wasm" "$1"; }
for check in integers frames cookies keys; do
  result="$(run "$check")"
  case "$result" in
    *"i32(0)]") ;;
    *) echo "narrow.sh: $check: $result"; exit 1 ;;
  esac
done
if run trap >/dev/null 2>&1; then
  echo "narrow.sh: an overflow is not detected"
  exit 1
fi
echo "32 bits: all checks pass"
