#!/usr/bin/env bash
# Checks that the library compiles for the Static Linux SDK, without the SDK: compiles the C code with musl's compiler, and
# type-checks the Swift code against musl's headers instead of glibc's, which shows where C's types differ (SOCK_STREAM,
# RLIMIT_NOFILE and the like). The SDK contains only a few of the kernel's headers. Requires musl-gcc (musl-tools). With --quick
# the Swift code is only searched for the name of glibc's module, because type-checking takes a minute.
set -euo pipefail
cd "$(dirname "$0")/../.."
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
root="$work/root/usr/include"
mkdir -p "$root/linux"
cp -r "/usr/include/$(uname -m)-linux-musl/." "$root"
printf '#define SIOCINQ 0x541B\n#define SIOCOUTQ 0x5411\n' >"$root/linux/sockios.h"
# For Swift's own modules.
printf '#define %s\n' 'FUTEX_LOCK_PI 6' 'FUTEX_UNLOCK_PI 7' 'FUTEX_TRYLOCK_PI 8' 'FUTEX_PRIVATE_FLAG 128' \
  'FUTEX_LOCK_PI_PRIVATE 134' 'FUTEX_UNLOCK_PI_PRIVATE 135' 'FUTEX_TRYLOCK_PI_PRIVATE 136' >"$root/linux/futex.h"

for file in Sources/CCurl/*.c Sources/CZlib/*.c; do
  musl-gcc -Wall -Wextra -Werror -fsyntax-only -isystem "$root" -I Sources/CZlib/include -I Sources/CCurl/include "$file"
done

# The toolchain's C library module is called Glibc; code that names it does not compile with the SDK.
if grep -rnE '\bGlibc\.' --include='*.swift' Sources/EKNetwork; then
  echo "names glibc's module"
  exit 1
fi
if [ "${1:-}" = --quick ]; then
  echo "musl: the C code compiles"
  exit
fi
mkdir "$work/maps"
for module in CZlib CCurl; do
  printf 'module %s {\n  header "%s/Sources/%s/include/%s.h"\n  export *\n}\n' $module "$PWD" $module $module
done >"$work/maps/module.modulemap"
find Sources/EKNetwork -name '*.swift' -print0 | xargs -0 swiftc -typecheck -swift-version 6 -sdk "$work/root" \
  -module-cache-path "$work/cache" -I "$work/maps" -module-name EKNetwork >"$work/log" 2>&1 || {
  grep -E '^[^ ]+: error: ' "$work/log" | sort -u
  exit 1
}
echo "musl: the library compiles"
