#!/usr/bin/env bash
# modules.sh PLATFORM...: builds the modules that a check needs, unless they exist. One process builds at a time; the
# lock is released between platforms, so that another process waits only for the platforms it needs.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
exec 9>"$APPLE_MODULES/lock"
flock 9
for folder in "$APPLE_STDLIB" "$APPLE_OVERLAYS"; do
  # A copy, so that modules built from it stay valid when the checkout changes.
  [ -d "$folder/stubs" ] || { mkdir -p "$folder/empty" "$folder/cache"; cp -R "$here/stubs" "$folder/stubs"; }
done
flock -u 9
for platform in "$@"; do
  flock 9
  if [ ! -e "$APPLE_STDLIB/$platform.done" ]; then
    # The Testing module is needed where tests are checked.
    testing=()
    case $platform in macos | ios) testing=(Testing) ;; esac
    python3 "$here/stdlib.py" "$platform" "${testing[@]}"
    touch "$APPLE_STDLIB/$platform.done"
  fi
  if [ ! -e "$APPLE_OVERLAYS/$platform.done" ]; then
    python3 "$here/overlays.py" "$platform"
    touch "$APPLE_OVERLAYS/$platform.done"
  fi
  flock -u 9
done
