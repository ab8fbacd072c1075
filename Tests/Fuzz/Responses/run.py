#!/usr/bin/env python3
"""Runs the client in parts, each in its own process, so that a failure can be replayed from the start of its part: run.py CLIENT
LIBRARIES VERSION…. responses.sh builds the client and the libraries."""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
SHOWN = 3


class Server:
    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-B", str(HERE / "server.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ports = json.loads(self.process.stdout.readline())

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


def environment(folder):
    sanitizer = subprocess.run(["gcc", "-print-file-name=libasan.so"], stdout=subprocess.PIPE, text=True, check=True)
    return {
        **os.environ, "LD_PRELOAD": sanitizer.stdout.strip(), "LD_LIBRARY_PATH": str(folder),
        "ASAN_OPTIONS": "use_sigaltstack=0:detect_leaks=0:abort_on_error=1:quarantine_size_mb=32", "SWIFT_BACKTRACE": "enable=no"}


def run_part(options, folder, first, count):
    """Returns the outcomes of a part, and a description of its failure or None."""
    server = Server()
    try:
        ports = server.ports
        command = [options.client, str(options.seed), str(first), str(count), *(str(ports[name]) for name in ("plain", "tls", "h2")),
                   ports["ca"]]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(folder), timeout=900)
        said, complaint = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
        alive = server.process.poll() is None
    except subprocess.TimeoutExpired:
        return collections.Counter(), "it has not finished within 900 s"
    finally:
        server.stop()
    endings, wrong = collections.Counter(), []
    for line in said.splitlines():
        if line.startswith("ended\t"):
            _, name, number = line.split("\t")
            endings[name] += int(number)
        else:
            wrong.append(line)
    if done.returncode or wrong or not alive or endings.total() != count:
        at = complaint.find("ERROR: AddressSanitizer")
        report = complaint[max(0, at):][:6000] if at >= 0 else complaint[-2000:]
        died = "" if alive else "the server has died\n"
        return endings, f"status {done.returncode}\n{died}" + "\n".join(wrong[:20]) + "\n" + report
    return endings, None


def run_version(options, version):
    folder = pathlib.Path(options.libraries) / version
    begin = time.monotonic()
    parts = range(options.first, options.first + options.count, options.part)
    endings, failures = collections.Counter(), []
    with concurrent.futures.ThreadPoolExecutor(options.at_once) as pool:
        runs = {first: pool.submit(run_part, options, folder, first, min(options.part, options.first + options.count - first))
                for first in parts}
        for first, future in runs.items():
            found, failure = future.result()
            endings += found
            if failure:
                failures.append((first, failure))
                if len(failures) == SHOWN:
                    for other in runs.values():
                        other.cancel()
                    break
    seconds = time.monotonic() - begin
    for first, failure in failures:
        print(f"{failure}\nreplay: Tests/Fuzz/responses.sh --replay {version} {options.seed} {first} {options.part}\n")
    print(f"{version}: {endings.total()} responses in {seconds:.0f} s; " + ", ".join(
        f"{name} {count}" for name, count in endings.most_common()))
    # Some responses must succeed and some must fail: otherwise the library was not exercised.
    total = max(1, endings.total())
    if not failures and total > 5000 and (endings["proven"] < total / 10 or endings["error URLError -1011"] < total / 20):
        print(f"{version}: too few of the responses were valid or too few were rejected")
        return False
    return not failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("client")
    parser.add_argument("libraries")
    parser.add_argument("versions", nargs="+")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--count", type=int, default=100000)
    parser.add_argument("--part", type=int, default=5000)
    parser.add_argument("--at-once", type=int, default=2)
    options = parser.parse_args()
    good = [run_version(options, version) for version in options.versions]
    sys.exit(not all(good))


if __name__ == "__main__":
    main()
