#!/usr/bin/env bash
# Type-checks this package for Apple's platforms, on Linux: check.sh [--modules | --quick]
#   --modules  only builds the required modules
#   --quick    checks only the library, for macOS
# Checks the tests for the platforms in $APPLE_TESTS (default: macos ios).
# Writes to $APPLE_MODULES (default: .build-apple in the checkout) and nothing else.
set -uo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
checkout="$(cd "$here/../.." && pwd)"
mode="${1:-}"
SWIFT_TOOLCHAIN="${SWIFT_TOOLCHAIN:-$(dirname "$(dirname "$(dirname "$(readlink -f "$(command -v swiftc)")")")")}"
APPLE_MODULES="${APPLE_MODULES:-$checkout/.build-apple}"
mkdir -p "$APPLE_MODULES"
# The modules depend on the toolchain and the stubs, not on the project: several checkouts can share them.
digest() { { "$SWIFT_TOOLCHAIN/usr/bin/swiftc" --version 2>&1; cat "$@"; } | sha256sum | cut -c1-12; }
files() { find "$here/stubs/$1" -type f | sort; }
APPLE_STDLIB="$APPLE_MODULES/stdlib-$(digest "$here/stdlib.py" $(files c/Darwin) $(files c/ObjectiveC))"
APPLE_OVERLAYS="$APPLE_MODULES/overlays-$(digest "$here/overlays.py" "$here/stdlib.py" $(files swift) $(files c))"
APPLE_SCRATCH="$(mktemp -d)"
trap 'rm -rf "$APPLE_SCRATCH"' EXIT
export SWIFT_TOOLCHAIN APPLE_MODULES APPLE_STDLIB APPLE_OVERLAYS APPLE_SCRATCH

platforms=(macos ios tvos watchos visionos)
[ "$mode" = --quick ] && platforms=(macos)
bash "$here/modules.sh" "${platforms[@]}" || { echo "the modules cannot be built"; exit 1; }
[ "$mode" = --modules ] && exit 0

maps="$APPLE_SCRATCH/maps"
mkdir -p "$maps"
for module in CZlib CSession; do
  printf 'module %s {\n  header "%s/Sources/%s/include/%s.h"\n  export *\n}\n' $module "$checkout" $module $module
done >"$maps/module.modulemap"
sources() { find "$checkout/$1" -name '*.swift' | sort; }

# Checks run in parallel, each with its own log. One that is killed reports nothing, and so each that passes leaves a file.
started=0
mkdir -p "$APPLE_SCRATCH/passed"
step() { # name, command...
  local name="$1" log began=$SECONDS
  shift
  log="$(mktemp -p "$APPLE_SCRATCH")"
  if "$@" >"$log" 2>&1 && ! grep -aqE '(error|warning): ' "$log"; then
    echo "ok: $name, $((SECONDS - began)) s"
    mktemp -p "$APPLE_SCRATCH/passed" >/dev/null
  else
    echo "FAILS: $name"
    grep -aE '^[^ ]+: (error|warning): |Stack dump|^error' "$log" | sed "s|$checkout/||" | sort -u | head -40
  fi
}
jobs="${APPLE_JOBS:-$(nproc)}"
side() { # like step, in parallel with at most $jobs others
  while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
  started=$((started + 1))
  step "$@" &
}
settle() { # waits for the running checks; exits if not all have passed
  wait
  local passed
  passed="$(find "$APPLE_SCRATCH/passed" -type f | wc -l)"
  [ "$passed" = "$started" ] || { echo "$passed of $started checks have passed"; exit 1; }
}
compile() { bash "$here/compile.sh" "$@"; }
upcoming=(-enable-upcoming-feature NonisolatedNonsendingByDefault)
library=(EKNetwork sil -I "$maps")

if [ "$mode" = --quick ]; then
  side "macos: EKNetwork" compile macos "${library[@]}" $(sources Sources/EKNetwork)
  settle
  exit 0
fi

# The passes after the type checker see the same code for these platforms as for iOS, except in the files that distinguish
# platforms. A type checker sees the availability of what every file uses.
distinct="$(grep -lE '^ *#(else)?if.*(\b(macOS|iOS|tvOS|watchOS|visionOS)\b|targetEnvironment|arch\(|_pointerBitWidth)' \
  $(sources Sources/EKNetwork))" || { echo "FAILS: no file distinguishes platforms"; exit 1; }
like_ios() { # platform
  # An output for each primary file; compile.sh names one.
  local file primary=()
  for file in $distinct; do primary+=(-primary-file "$file" -o /dev/null); done
  primary=("${primary[@]:0:${#primary[@]}-2}")
  compile "$1" EKNetwork types -I "$maps" $(sources Sources/EKNetwork) &&
    compile "$1" "${library[@]}" "${primary[@]}" $(sources Sources/EKNetwork | grep -vxF "$distinct")
}
for platform in tvos visionos; do
  side "$platform: EKNetwork" like_ios $platform
done
# Whole: a literal that exceeds 32 bits, which stdlib.py makes an error there, is only found by these passes.
side "watchos: EKNetwork" compile watchos "${library[@]}" $(sources Sources/EKNetwork)
for platform in macos ios; do
  side "$platform: EKNetwork" compile $platform EKNetwork module -I "$maps" $(sources Sources/EKNetwork)
  side "$platform: LoopbackServer, its module" \
    compile $platform LoopbackServer module "${upcoming[@]}" $(sources Sources/LoopbackServer)
done
settle
# The slowest check of all by far.
for platform in ${APPLE_TESTS:-macos ios}; do
  side "$platform: EKNetworkTests" \
    compile $platform EKNetworkTests sil -enable-testing -I "$maps" "${upcoming[@]}" $(sources Tests/EKNetworkTests)
done
modes="$here/../Clients/modes.txt"
[ -s "$modes" ] || { echo "FAILS: there is no $modes"; exit 1; }
while IFS='|' read -r name options; do
  # The last of several options wins.
  side "macos: clients, $name" compile macos Clients sil -wmo -parse-as-library -I "$maps" $options $(sources Tests/Clients/Sources)
done <"$modes"
side "ios: clients" compile ios Clients sil -wmo -parse-as-library -I "$maps" $(sources Tests/Clients/Sources)
side "macos: EKNetworkDemo" compile macos EKNetworkDemo sil -I "$maps" "${upcoming[@]}" $(sources Sources/EKNetworkDemo)
side "macos: AutobahnClient" \
  compile macos AutobahnClient sil -parse-as-library -I "$maps" "${upcoming[@]}" $(sources Tests/Autobahn)
# Only the screen of the recipes: the packages for servers are not available.
screen() {
  compile macos SwiftUI module "$here/stubs/modules/SwiftUI.swift" &&
    compile macos Recipes sil -target arm64-apple-macosx14.0 -I "$maps" \
      "$checkout"/Tests/Recipes/Sources/Recipes/User{Model,Screen}.swift
}
side "macos: SwiftUI" screen
side "macos: documentation" python3 "$here/documents.py" "$maps"
clang=("$SWIFT_TOOLCHAIN/usr/bin/clang" -fsyntax-only -Wall -Wextra -isysroot "$APPLE_STDLIB/empty")
for triple in arm64-apple-macosx13.0 arm64-apple-ios16.0 arm64-apple-tvos16.0 arm64_32-apple-watchos9.0; do
  for file in "$checkout"/Sources/CZlib/CZlib.c "$checkout"/Sources/CCurl/*.c; do
    side "$triple: $(basename "$file")" "${clang[@]}" -target $triple -I "$here/stubs/libc" \
      -I "$checkout/Sources/CZlib/include" -I "$checkout/Sources/CCurl/include" "$file"
  done
  side "$triple: CSession.m" "${clang[@]}" -target $triple -fobjc-arc -fobjc-exceptions -fmodules \
    -fmodules-cache-path="$APPLE_SCRATCH/clang" -I "$here/stubs/c" -I "$checkout/Sources/CSession/include" \
    "$checkout/Sources/CSession/CSession.m"
done
settle
