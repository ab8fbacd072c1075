#!/usr/bin/env python3
"""Runs the suites that use the network on each libcurl that Linux distributions ship: run.py [LABEL …].

A label is a version in ../shared/libcurl/lib, `asan-VERSION` for one that Tests/Fuzz/responses.sh has built with the address
sanitizer, or `debian-13` for that whole system in a chroot (created by debian.sh). The tests must have been built. What differs
between versions is declared in the tests (Support/LibcurlDifference.swift): it must appear, and nothing else may fail.

  --list       prints the labels and suites that would run
  --suites 'A B'  runs only these suites
  --keep DIR   keeps the logs and events of the tests in DIR
"""

import argparse
import concurrent.futures
import functools
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LIBRARIES = ROOT.parent / "shared/libcurl/lib"
SANITIZED = pathlib.Path(os.environ.get("EKNETWORK_CACHE", pathlib.Path.home() / ".cache/eknetwork")) / "libcurl-asan"
DEBIAN = "debian-13"
AT_ONCE = 2
# The processes, one after the other, among which the suites of a run are divided: hundreds of tests that wait for two cores
# would run into their own timeouts. At least so many, and at most so many suites in each.
PARTS, SUITES = 4, 32
# The timeout of a process, in seconds; none takes a minute on an idle machine. Tests that have not finished by then are reported.
LIMIT = int(os.environ.get("MATRIX_SECONDS", "420"))
# What a file with tests that reach libcurl mentions. The others only compute, and give the same results on every version.
NETWORK = re.compile(r"\bimport LoopbackServer|Curl|HTTPTransport|PeerProcess|WebSocket\(|\bWire\.|CacheBench")
SUITE = re.compile(r"\b(?:struct|class|actor|enum|extension) (\w+Tests)\b")


def suites():
    names = set()
    for file in (ROOT / "Tests/EKNetworkTests").rglob("*.swift"):
        text = file.read_text()
        if NETWORK.search(text):
            names.update(SUITE.findall(text))
    return sorted(names)


def identifier(test_id):
    """EKNetworkTests.Suite/name(_:)/File.swift:1:2 -> Suite/name"""
    test_id = test_id.split(".", 1)[1]
    return "/".join(part.split("(")[0] for part in test_id.split("/") if ".swift:" not in part)


def arguments(event):
    """Returns the arguments of a failed case, on one line."""
    return " ".join(event.get("_testCase", {}).get("displayName", "").replace("|", " ").split())


def read_events(path):
    """Returns the failed cases, the tests still running at the end, the number of tests run, and whether the run was complete."""
    failed, open_tests, parents, ran, ended = {}, set(), set(), 0, False
    for line in path.read_text(errors="replace").splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue  # the last line, truncated
        payload = record["payload"]
        if record["kind"] == "test":
            if payload["kind"] == "suite":
                parents.add(payload["id"])
            continue
        kind, test = payload["kind"], payload.get("testID")
        if kind == "runEnded":
            ended = True
        elif kind == "testStarted" and test not in parents:
            open_tests.add(test)
            ran += 1
        elif kind in ("testEnded", "testSkipped", "testCancelled"):
            open_tests.discard(test)
        elif kind == "issueRecorded" and not payload["issue"].get("isKnown"):
            if payload["issue"].get("severity", "error") == "warning":
                continue
            text = " ".join(message["text"] for message in payload["messages"])
            name = identifier(test) if test else "no test"
            failed.setdefault((name, arguments(payload)), text)
    return failed, {identifier(test) for test in open_tests}, ran, ended


@functools.cache
def own_network():
    """Returns whether each run can have its own network namespace."""
    return subprocess.run(["unshare", "--net", "sh", "-c", "ip link set lo up"], capture_output=True).returncode == 0


@functools.cache
def sanitizer():
    """Returns the environment of a process that loads a libcurl with the address sanitizer and has none itself."""
    library = subprocess.run(["gcc", "-print-file-name=libasan.so"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    return {"LD_PRELOAD": library, "SWIFT_BACKTRACE": "enable=no",
            "ASAN_OPTIONS": "use_sigaltstack=0:detect_leaks=0:abort_on_error=1:quarantine_size_mb=32"}


def run(label, binary, filters, folder):
    """Runs the tests on one libcurl, in parts; returns the results of `read_events`, and the seconds, exit status and log, those
    of the first incomplete part if there is one."""
    failed, unfinished, ran, total = {}, set(), 0, 0
    parts = min(max(PARTS, -(-len(filters) // SUITES)), len(filters))
    for part in range(parts):
        outcome = run_part(f"{label}-{part + 1}", label, binary, filters[part::parts], folder)
        failed |= outcome[0]
        unfinished |= outcome[1]
        ran += outcome[2]
        total += outcome[4]
        if not outcome[3] or outcome[5] is None:
            return failed, unfinished, ran, outcome[3], total, outcome[5], outcome[6]
    return failed, unfinished, ran, True, total, 0, outcome[6]


def run_part(name, label, binary, filters, folder):
    events, log = folder / f"{name}.json", folder / f"{name}.log"
    command = [str(binary), "--testing-library", "swift-testing", "--event-stream-version", "0",
               "--event-stream-output-path", str(events), "--filter", r"\.(" + "|".join(filters) + r")(/|$)"]
    environment = dict(os.environ)
    if label == DEBIAN:
        command = ["bash", str(HERE / "debian.sh"), str(folder), *command]
    elif label.startswith("asan-"):
        environment |= sanitizer()
        environment["LD_LIBRARY_PATH"] = str(SANITIZED / label.removeprefix("asan-"))
    else:
        environment["LD_LIBRARY_PATH"] = str(LIBRARIES / label)
    if own_network():
        # A retry to a stopped server must not reach a server of the other run on the same port.
        command = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", *command]
    begin = time.monotonic()
    with open(log, "wb") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environment, cwd=ROOT,
            start_new_session=True)
        try:
            status = process.wait(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            status = None
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    seconds = time.monotonic() - begin
    if not events.exists():
        events.write_text("")
    return *read_events(events), seconds, status, log


def judge(label, outcome, minimum):
    """Prints the problems of a run; returns whether there are none."""
    failed, unfinished, ran, ended, seconds, status, log = outcome
    problems = [f"fails: {name} | {given}\n      {text[:600]}" for (name, given), text in sorted(failed.items())]
    for name in sorted(unfinished):
        problems.append(f"has not finished: {name}")
    if not ended or status is None:
        lines = log.read_text(errors="replace").splitlines()
        reports = [number for number, line in enumerate(lines) if "ERROR: AddressSanitizer" in line]
        tail = "\n      ".join(lines[reports[0]:][:60] if reports else lines[-12:])
        problems.append(f"the run is incomplete ({'killed' if status is None else f'status {status}'}):\n      {tail}")
    elif ran < minimum:
        problems.append(f"only {ran} tests ran")
    print(f"{label:10} {ran:4} tests, {len(failed)} cases fail, {seconds:.0f} s")
    for problem in problems:
        print(f"    {problem}")
    sys.stdout.flush()
    return not problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("labels", nargs="*")
    parser.add_argument("--suites", type=str.split, default=[])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / ".build/debug/EKNetworkPackageTests.xctest")
    options = parser.parse_args()
    versions = sorted((path.parent.name for path in LIBRARIES.glob("*/libcurl.so.4")),
                      key=lambda name: [int(part) for part in name.split(".")])
    if not versions:
        sys.exit(f"no libcurl in {LIBRARIES}")
    labels = options.labels or [*versions, DEBIAN]
    sanitized = [f"asan-{path.parent.name}" for path in SANITIZED.glob("*/libcurl.so.4")]
    for label in labels:
        if label not in (*versions, *sanitized, DEBIAN):
            sys.exit(f"no such label: {label}")
    filters = suites()
    if options.suites:
        if not set(options.suites) <= set(filters):
            sys.exit(f"no such suites: {' '.join(sorted(set(options.suites) - set(filters)))}")
        filters = sorted(options.suites)
    if options.list:
        print(*labels, *filters, sep="\n")
        return
    if DEBIAN in labels:
        prepared = subprocess.run(["bash", str(HERE / "debian.sh"), "--prepare"], stdout=subprocess.PIPE, text=True)
        if prepared.returncode == 3:
            print(f"{DEBIAN}: skipped: {prepared.stdout.strip()}")
            labels.remove(DEBIAN)
        elif prepared.returncode:
            sys.exit(f"{DEBIAN}: {prepared.stdout}")
    # Uses the third-party servers if they are installed.
    python = ROOT / ".build/peers/bin/python"
    if python.exists():
        os.environ.setdefault("EKNETWORK_PEERS_PYTHON", str(python))
    good = True
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        folder = options.keep or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        runs = {}
        for label in labels:
            runs[label] = pool.submit(run, label, options.binary.resolve(), filters, folder)
        for label, future in runs.items():
            good &= judge(label, future.result(), minimum=len(filters))
    sys.exit(not good)


if __name__ == "__main__":
    main()
