#!/usr/bin/env bash
# Runs the public WebSocket conformance suite against this client: run.sh TOOL, where TOOL is the folder of the suite.
# Every case must be OK, NON-STRICT or INFORMATIONAL, in its behavior and in how it closed.
set -euo pipefail
tool="$(cd "$1" && pwd)"
cd "$(dirname "$0")/../.."
work="$(mktemp -d)"
server=""
finish() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT
suite="${AUTOBAHN_SUITE:-$work/suite}"
[ -x "$suite/run-fuzzingserver.sh" ] || python3 "$tool/port.py" "$suite" >"$work/port.log" 2>&1 || {
  cat "$work/port.log"
  exit 1
}
swift build --product AutobahnClient >"$work/build.log" 2>&1 || {
  cat "$work/build.log"
  exit 1
}
mkdir "$work/reports"
: >"$work/server.log"
"$suite/run-fuzzingserver.sh" 0 "$work/reports" "${2:-*}" "" --no-html ${AUTOBAHN_OPTIONS:-} >"$work/server.log" 2>&1 &
server=$!
url=""
until [ -n "$url" ]; do
  url="$(sed -n 's/^READY \([^ ]*\).*/\1/p' "$work/server.log")"
  kill -0 "$server" || {
    cat "$work/server.log"
    exit 1
  }
  sleep 0.1
done
"$(swift build --show-bin-path)/AutobahnClient" "$url" EKNetwork
python3 - "$work/reports/index.json" <<'PYTHON'
import collections, json, sys
cases = json.load(open(sys.argv[1]))["EKNetwork"]
passing = {"OK", "NON-STRICT", "INFORMATIONAL"}
bad = {name: case for name, case in cases.items() if not {case["behavior"], case["behaviorClose"]} <= passing}
for name, case in sorted(bad.items()):
    print(name, case["behavior"], case["behaviorClose"], case["remoteCloseCode"])
for key in ("behavior", "behaviorClose"):
    print("%-14s" % key, dict(collections.Counter(case[key] for case in cases.values())))
print(f"{len(cases)} cases, {len(bad)} failed")
sys.exit(bool(bad) or not cases)
PYTHON
