#!/usr/bin/env bash
# Type-checks the client sources against the last build of the library, in every language mode of an app; then builds
# and runs a package that depends on this one.
set -euo pipefail
cd "$(dirname "$0")/../.."
modules="$(swift build --show-bin-path)"
# Emits SIL, because a pass after type checking diagnoses values that cross actors.
options=(-emit-sil -wmo -o /dev/null -parse-as-library -warnings-as-errors -I "$modules/Modules" -I Sources/CCurl/include -I Sources/CZlib/include)
for map in "$modules"/{CCurl,CZlib}.build/module.modulemap; do
  if [ -f "$map" ]; then options+=(-Xcc "-fmodule-map-file=$map"); fi
done

failures=0
check() { # name, compiler options
  local name="$1"
  shift
  if swiftc "${options[@]}" "$@" Tests/Clients/Sources/*.swift; then
    echo "compiles: $name"
  else
    echo "DOES NOT COMPILE: $name"
    failures=$((failures + 1))
  fi
}

# The options of each mode contain no spaces. "Approachable concurrency" of Xcode 26 is two upcoming features, in addition to
# what Swift 6 enables.
while IFS='|' read -r name words; do
  # shellcheck disable=SC2086
  check "$name" $words </dev/null
done <Tests/Clients/modes.txt
if swiftc "${options[@]}" -swift-version 6 Tests/Clients/Broken/Broken.swift 2>/dev/null; then
  echo "the check accepts code that does not compile"
  exit 1
fi
[ "$failures" = 0 ] || exit 1

# What a request declares with another type than the protocol's is not used: the compiler says so, and how to declare it.
said="$(swiftc "${options[@]}" -swift-version 6 Tests/Clients/Broken/Ignored.swift 2>&1 || true)"
names="$(sed -n 's/^ *static func _\(.*\)IsUsed()$/\1/p' Sources/EKNetwork/Request/DeclaredTypes.swift)"
[ -n "$names" ] || { echo "no properties to warn of" && exit 1; }
for name in $names; do
  grep -q "'$name' is not used: declare it as" <<<"$said" || { echo "no warning about $name" && exit 1; }
done
grep -q "requires nested type 'Response'" <<<"$said" || { echo "no error for a missing response" && exit 1; }
echo "warns of properties that are not used"

# In the library's own build folder, whose objects they link. SwiftPM remembers one plan for each folder.
build=(swift build --quiet --disable-build-manifest-caching)
status=0
"${build[@]}" --package-path Tests/Clients/App --scratch-path .build || status=1
for app in Swift5App MainActorApp; do "$modules/$app" || status=1; done
# The library's own plan again, whatever has happened.
"${build[@]}" --build-tests
exit "$status"
