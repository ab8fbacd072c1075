#!/usr/bin/env bash
# compile.sh PLATFORM MODULE types|sil|module [options] SOURCES...: compiles a module for an Apple target as far as possible
# without an SDK: up to the passes after the type checker (initialisation, `sending`, exclusivity). With "types" it stops before
# them, and with "module" it also emits a module for importers. Requires the environment of check.sh.
set -u
platform="$1" module="$2" mode="$3"
shift 3
case "$platform" in
  macos) os=macosx13.0 ;; ios) os=ios16.0 ;; tvos) os=tvos16.0 ;; watchos) os=watchos9.0 ;; visionos) os=xros1.0 ;;
  *) echo "error: no such platform: $platform"; exit 1 ;;
esac
built="$APPLE_SCRATCH/built/$platform"
mkdir -p "$built"
case "$mode" in
  types) output=(-typecheck) ;;
  sil) output=(-emit-sil -o /dev/null) ;;
  module) output=(-emit-sil -o /dev/null -enable-testing -emit-module-path "$built/$module.swiftmodule") ;;
esac
exec "$SWIFT_TOOLCHAIN/usr/bin/swift-frontend" "${output[@]}" -swift-version 6 -target "arm64-apple-$os" \
  -sdk "$APPLE_STDLIB/empty" -resource-dir "$APPLE_STDLIB/resources" -module-cache-path "$APPLE_OVERLAYS/cache" \
  -I "$APPLE_OVERLAYS/modules/$platform" -I "$APPLE_OVERLAYS/stubs/c" -I "$built" -module-name "$module" \
  -package-name eknetwork -enable-objc-interop -diagnostic-style llvm \
  -plugin-path "$SWIFT_TOOLCHAIN/usr/lib/swift/host/plugins" "$@"
