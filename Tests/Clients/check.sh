#!/usr/bin/env bash
# Type-checks Client.swift against the library as it was built last, in every language mode of an app.
set -euo pipefail
cd "$(dirname "$0")/../.."
modules="$(swift build --show-bin-path)"
options=(-typecheck -parse-as-library -I "$modules/Modules" -I Sources/CCurl/include)
[ -f "$modules/CCurl.build/module.modulemap" ] && options+=(-Xcc "-fmodule-map-file=$modules/CCurl.build/module.modulemap")

check() { # name, compiler options
  local name="$1"
  shift
  swiftc "${options[@]}" "$@" Tests/Clients/Client.swift
  echo "$name: compiles"
}

check "Swift 5" -swift-version 5
check "Swift 6" -swift-version 6
check "Swift 6, main actor by default" -swift-version 6 -default-isolation MainActor -D MAIN_ACTOR_BY_DEFAULT
check "Swift 6, nonsending by default" -swift-version 6 -enable-upcoming-feature NonisolatedNonsendingByDefault
if swiftc "${options[@]}" -swift-version 6 Tests/Clients/Broken.swift 2>/dev/null; then
  echo "the check lets through what does not compile"
  exit 1
fi
