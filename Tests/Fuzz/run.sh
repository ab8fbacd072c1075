#!/usr/bin/env bash
# Fuzzes parsers with libFuzzer and the address sanitizer: run.sh [TARGET] [RUNS [WORKERS]]. The targets are websocket, the
# frame parser, and http1, the response parser; without one, both are fuzzed with RUNS inputs each. Findings are stored in
# .build/fuzz/TARGET/findings; pass a target and such a file as the only arguments to reproduce one.
set -euo pipefail
cd "$(dirname "$0")/../.."
targets="websocket http1"
case "${1:-}" in websocket | http1)
  targets="$1"
  shift
  ;;
esac
runs="${1:-1000000}"
workers="${2:-1}"
sources="Sources/EKNetwork"

# Preconditions and overflow checks find the most, so this is optimized but not unchecked.
compile() {
  swiftc -use-ld=lld -O -g -sanitize=fuzzer,address -parse-as-library -module-name Fuzz -swift-version 6 "$@" -o "$work/fuzz"
}

compile_websocket() {
  clang -O1 -g -fsanitize=address -c Sources/CZlib/CZlib.c -I Sources/CZlib/include -o "$work/CZlib.o"
  mkdir -p "$work/CZlib"
  echo "module CZlib { header \"$PWD/Sources/CZlib/include/CZlib.h\" export * }" >"$work/CZlib/module.modulemap"
  compile -I "$work/CZlib" "$sources"/WebSocket/{Frames/*,Compression/MessageInflater}.swift \
    "$sources"/WebSocket/WebSocket{Message,CloseCode}.swift Tests/Fuzz/MessageDecoderFuzz.swift "$work/CZlib.o"
}

compile_http1() {
  compile "$sources"/Transport/HTTP1/{ResponseParser,ChunkedDecoder,FieldSectionScanner}.swift \
    "$sources"/Transport/{RawHead,ResponseHead,ResponseHeadRules}.swift \
    "$sources"/HTTP/{HeaderFieldList,HeaderSyntax,PercentEncoding,StatusCodes}.swift "$sources"/Exports.swift \
    Tests/Fuzz/Response{ParserFuzz,HeadStubs}.swift
}

fuzz() {
  local worker pid pids=""
  # Where a block was allocated is recorded only when a finding is reproduced.
  export ASAN_OPTIONS="quarantine_size_mb=1:malloc_context_size=0" SWIFT_BACKTRACE="enable=no"
  for worker in $(seq "$workers"); do
    "$work/fuzz" -runs=$((runs / workers)) -seed="$worker" -timeout=20 -rss_limit_mb=1024 -print_final_stats=1 -verbosity=0 \
      -artifact_prefix="$work/findings/" "$@" "$work/corpus" "$work/seeds" >"$work/worker-$worker.log" 2>&1 &
    pids="$pids $!"
  done
  for pid in $pids; do
    wait "$pid" || {
      cat "$work"/worker-*.log
      exit 1
    }
  done
  awk -v target="$target" '/number_of_executed_units/ { total += $2 } END { print target ": " total " inputs, nothing found" }' \
    "$work"/worker-*.log
}

for target in $targets; do
  work="$PWD/.build/fuzz/$target"
  mkdir -p "$work/corpus" "$work/findings"
  "compile_$target"
  [ ! -f "${1:-}" ] || exec "$work/fuzz" "$1"
  python3 "Tests/Fuzz/${target}_seeds.py" "$work/seeds"
  rm -f "$work"/worker-*.log
  case "$target" in
    websocket) fuzz -max_len=1024 ;;
    http1) fuzz -max_len=2048 -dict=Tests/Fuzz/http1.dict ;;
  esac
done
