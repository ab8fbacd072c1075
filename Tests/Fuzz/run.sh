#!/usr/bin/env bash
# Fuzzes the WebSocket frame parser with libFuzzer and the address sanitizer: run.sh [RUNS [WORKERS]]. Findings are stored
# in .build/fuzz/findings; pass such a file as the only argument to reproduce one.
set -euo pipefail
cd "$(dirname "$0")/../.."
work="$PWD/.build/fuzz"
sources="Sources/EKNetwork/WebSocket"
mkdir -p "$work/corpus" "$work/findings"
clang -O1 -g -fsanitize=address -c Sources/CZlib/CZlib.c -I Sources/CZlib/include -o "$work/CZlib.o"
mkdir -p "$work/CZlib"
echo "module CZlib { header \"$PWD/Sources/CZlib/include/CZlib.h\" export * }" >"$work/CZlib/module.modulemap"
# Preconditions and overflow checks find the most, so this is optimized but not unchecked.
swiftc -use-ld=lld -O -g -sanitize=fuzzer,address -parse-as-library -module-name Fuzz -swift-version 6 -I "$work/CZlib" \
  "$sources"/Frames/*.swift "$sources"/Compression/MessageInflater.swift "$sources"/WebSocketMessage.swift \
  "$sources"/WebSocketCloseCode.swift Tests/Fuzz/MessageDecoderFuzz.swift "$work/CZlib.o" -o "$work/fuzz"
[ ! -f "${1:-}" ] || exec "$work/fuzz" "$1"
python3 Tests/Fuzz/seeds.py "$work/seeds"
runs="${1:-1000000}"
workers="${2:-1}"
pids=""
export ASAN_OPTIONS="quarantine_size_mb=1" SWIFT_BACKTRACE="enable=no"
for worker in $(seq "$workers"); do
  "$work/fuzz" -runs=$((runs / workers)) -seed="$worker" -max_len=1024 -timeout=20 -rss_limit_mb=1024 \
    -print_final_stats=1 -verbosity=0 -artifact_prefix="$work/findings/" "$work/corpus" "$work/seeds" \
    >"$work/worker-$worker.log" 2>&1 &
  pids="$pids $!"
done
for pid in $pids; do
  wait "$pid" || {
    cat "$work"/worker-*.log
    exit 1
  }
done
awk '/number_of_executed_units/ { total += $2 } END { print total " inputs, nothing found" }' "$work"/worker-*.log
