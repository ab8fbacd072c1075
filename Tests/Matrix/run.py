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
import collections
import concurrent.futures
import functools
import json
import os
import pathlib
import re
import shutil
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
# The suites that only run in a process that a test of another suite starts.
INNER = {"DescriptorShortageTests", "HangingLookupTests", "SOCKSProxyPeerTests", "SilentSOCKSProxyPeerTests", "SystemFolderTests"}
# The suites whose requirements Debian's packages do not meet: Python packages, a compiler, and iproute2.
NOT_ON_DEBIAN = {"ConnectionRoutePeerTests", "GraphQLPeerTests", "HARPeerTests", "HangingLookupProcessTests",
                 "NetworkNamespaceTests", "PasswordPeerTests", "UploadPeerTests"}


def may_be_skipped(suite, label):
    """Returns whether a suite may lack what it needs on this machine."""
    if suite == "PermissionTests":
        return os.geteuid() == 0
    if label == DEBIAN:
        return suite in NOT_ON_DEBIAN
    if suite == "NetworkNamespaceTests":
        return not own_network()
    if suite == "HangingLookupProcessTests":
        return not shutil.which("clang") or not pathlib.Path("/usr/include/semaphore.h").exists()
    return suite.endswith("PeerTests") and "EKNETWORK_PEERS_PYTHON" not in os.environ


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
    """Returns the failed cases, the tests still running at the end, the number of tests run by suite, and whether the run was
    complete."""
    failed, open_tests, parents, ran, ended = {}, set(), set(), collections.Counter(), False
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
            ran[identifier(test).split("/")[0]] += 1
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
def own_mounts():
    """Returns whether each run can have its own mounts, which end with it even if it is killed."""
    return subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode == 0


@functools.cache
def sanitizer():
    """Returns the environment of a process that loads a libcurl with the address sanitizer and has none itself."""
    library = subprocess.run(["gcc", "-print-file-name=libasan.so"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    return {"LD_PRELOAD": library, "SWIFT_BACKTRACE": "enable=no",
            "ASAN_OPTIONS": "use_sigaltstack=0:detect_leaks=0:abort_on_error=1:quarantine_size_mb=32"}


def run(label, binary, filters, folder):
    """Runs the tests on one libcurl, in parts; returns the results of `read_events`, and the seconds, exit status and log: those
    of the first incomplete part if there is one, else of the first that ends with a status that no failed test explains."""
    failed, unfinished, ran, total, last = {}, set(), collections.Counter(), 0, (0, None)
    parts = min(max(PARTS, -(-len(filters) // SUITES)), len(filters))
    for part in range(parts):
        outcome = run_part(f"{label}-{part + 1}", label, binary, filters[part::parts], folder)
        failed |= outcome[0]
        unfinished |= outcome[1]
        ran += outcome[2]
        total += outcome[4]
        if not outcome[3] or outcome[5] is None:
            return failed, unfinished, ran, outcome[3], total, outcome[5], outcome[6]
        if not last[0] and outcome[5] and not (outcome[0] and outcome[5] == 1):
            last = outcome[5:]
    return failed, unfinished, ran, True, total, *last


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
        mounts = ["--mount"] if own_mounts() else []
        command = ["unshare", "--net", *mounts, "sh", "-c", 'ip link set lo up && exec "$@"', "sh", *command]
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


def tail(log):
    """Returns the first report of the address sanitizer in a log, or its end."""
    lines = log.read_text(errors="replace").splitlines()
    reports = [number for number, line in enumerate(lines) if "ERROR: AddressSanitizer" in line]
    return "\n      ".join(lines[reports[0]:][:60] if reports else lines[-12:])


def judge(label, outcome, filters):
    """Prints the problems of a run; returns whether there are none."""
    failed, unfinished, ran, ended, seconds, status, log = outcome
    problems = [f"fails: {name} | {given}\n      {text[:600]}" for (name, given), text in sorted(failed.items())]
    for name in sorted(unfinished):
        problems.append(f"has not finished: {name}")
    skipped = []
    if not ended or status is None:
        problems.append(f"the run is incomplete ({'killed' if status is None else f'status {status}'}):\n      {tail(log)}")
    else:
        if status:
            # As when libcurl or a sanitizer ends the process after its last test.
            problems.append(f"status {status} after the tests:\n      {tail(log)}")
        absent = [name for name in filters if not ran[name] and name not in INNER]
        skipped = [name for name in absent if may_be_skipped(name, label)]
        problems += [f"has not run: {name}" for name in absent if name not in skipped]
    print(f"{label:10} {ran.total():4} tests, {len(failed)} cases fail, {seconds:.0f} s")
    for problem in problems:
        print(f"    {problem}")
    sys.stdout.flush()
    if skipped:
        skip(f"on {label}: {', '.join(skipped)}")
    return not problems


def skip(what):
    """Prints what this machine cannot run, which the gate (.ci/run) repeats at its end."""
    print(f"skipped: {what}", flush=True)
    if list_of_skipped := os.environ.get("EKNETWORK_SKIPPED"):
        with open(list_of_skipped, "a") as file:
            file.write(f"{what}\n")


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
    if not filters:
        sys.exit("no suites: have the tests moved?")
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
            skip(f"{DEBIAN}: {prepared.stdout.strip()}")
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
            good &= judge(label, future.result(), filters)
    sys.exit(not good)


if __name__ == "__main__":
    main()
