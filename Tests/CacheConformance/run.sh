#!/usr/bin/env bash
# Runs the public test suite for HTTP caches against the library's cache: run.sh TOOL [RESULTS], where TOOL is the folder
# of the suite. Prints the results next to those of browsers and proxies, and fails if fewer tests pass than required.
set -euo pipefail
tool="$(cd "$1" && pwd)"
cd "$(dirname "$0")/../.."
required=134
optimal=70
work="$(mktemp -d)"
results="${2:-$work/results.json}"
server=""
finish() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT
swift build --product CacheConformance >"$work/build.log" 2>&1 || {
  cat "$work/build.log"
  exit 1
}
# The server does not accept port 0; a port that is free now most likely still is when the server binds it.
port="$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')"
npm_config_protocol=http npm_config_port="$port" npm_config_pidfile="$work/pid" \
  node "$tool/test-engine/server/server.mjs" >"$work/server.log" 2>&1 &
server=$!
until grep -q Listening "$work/server.log"; do
  kill -0 "$server" || {
    cat "$work/server.log"
    exit 1
  }
  sleep 0.1
done
"$(swift build --show-bin-path)/CacheConformance" "http://localhost:$port" "$tool/suite.json" "$results"
node "$tool/score.mjs" "$results" | tee "$work/score"
python3 - "$work/score" "$required" "$optimal" <<'PYTHON'
import re, sys
line = next(line for line in open(sys.argv[1]) if line.startswith("this "))
for kind, least in zip(("required", "optimal"), map(int, sys.argv[2:])):
    passed = int(re.search(kind + r" (\d+)/", line)[1])
    if passed < least:
        sys.exit(f"{passed} {kind} tests pass, {least} are required")
PYTHON
