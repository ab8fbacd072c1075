#!/usr/bin/env python3
"""Changes the protocol logic in small ways, one at a time, and counts how many changes the tests notice: run.py [--count N]
[--seed N].

All changes are compiled at once, each behind a number that the environment chooses, so that there is one build: `a < b` becomes
`a <~ b` with an operator of its own, which is `<=` when its number is chosen. The tests that compute run first; what they let
pass meets the whole suite with --thorough. Nothing of the checkout is touched: it works on a copy.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
COPY = ROOT / ".build-mutation"
SOURCES = "Sources/EKNetwork"
# Values that decide something; shells, options and errors are not among them.
FILES = re.compile(
    r"(State|Parser|Splitter|Queue|Heap|Rules|Validator|Scanner|Receiver|Limit|Window|Allowance|Fields|Range|Freshness|Age|Date"
    r"|Encoder|Header|Line|Policy|Backoff|Origin|Progress|Redaction|Recording|Assignments|Inflation|Identity|Syntax|Key|LRU"
    r"|Representation|Buffer|Deadline|Context|Quota|Turn)\.swift$")
OUTSIDE = re.compile(r"/(Demo|URLSession|Prism/Sockets/NW)")
# What replaces what. The precedence is that of the original.
SWAPS = {
    "<": ("<=", "ComparisonPrecedence"), "<=": ("<", "ComparisonPrecedence"), ">": (">=", "ComparisonPrecedence"),
    ">=": (">", "ComparisonPrecedence"), "==": ("!=", "ComparisonPrecedence"), "!=": ("==", "ComparisonPrecedence"),
    "&&": ("||", "LogicalConjunctionPrecedence"), "||": ("&&", "LogicalDisjunctionPrecedence"),
    "+": ("-", "AdditionPrecedence"), "-": ("+", "AdditionPrecedence"),
}
PLACE = re.compile(r" (<=|>=|<|>|==|!=|&&|\|\||\+|-) |\b(true|false)\b")
COMPUTE = "State|Parser|Splitter|Queue|Heap|Rules|Validator|Scanner|Receiver|Limit|Window|RateLimit|Range|Fresh|Date|Encod|Syntax|" \
    "Backoff|Retry|Origin|Progress|Redact|Replay|HAR|Cookie|Cache|SSE|Event|NDJSON|Line|Frame|Message|Handshake|Identity|Header|" \
    "Multipart|Trace|Deadline|Assign|Loop|Inflat|Download|Represent|LRU|Store|Key|Send|Redirect|Refresh|Attempt"
MEASURED_IN_COPY = re.compile(r"Benchmarks|Matrix|Autobahn|Fuzz|Recipes|Apple")


class Change:
    def __init__(self, number, path, start, end, text, line):
        self.number, self.path, self.start, self.end, self.text, self.line = number, path, start, end, text, line

    def symbol(self):
        """An operator that nothing else uses: the number in mathematical signs."""
        return self.text + chr(0x2200 + self.number // 64) + chr(0x2240 + self.number % 64)

    def replacement(self):
        if self.text in ("true", "false"):
            return f"mutated({self.number}, {self.text})"
        return f" {self.symbol()} "

    def declaration(self):
        other, precedence = SWAPS[self.text]
        name, number = self.symbol(), self.number
        head = f"infix operator {name}: {precedence}\n"
        if precedence == "ComparisonPrecedence":
            constraint = "Equatable" if self.text in ("==", "!=") else "Comparable"
            body = f"isMutated({number}) ? a {other} b : a {self.text} b"
            text = f"func {name} <T: {constraint}>(a: T, b: T) -> Bool {{ {body} }}\n"
            if constraint == "Equatable":
                text += (f"func {name} <T>(a: T?, b: _OptionalNilComparisonType) -> Bool {{ isMutated({number}) ? a {other} b : "
                         f"a {self.text} b }}\n")
        elif precedence == "AdditionPrecedence":
            text = (f"func {name} <T: AdditiveArithmetic>(a: T, b: T) -> T {{ isMutated({number}) ? a {other} b : "
                    f"a {self.text} b }}\n")
        else:
            text = (f"func {name} (a: Bool, b: @autoclosure () throws -> Bool) rethrows -> Bool {{ isMutated({number}) ? "
                    f"try a {other} b() : try a {self.text} b() }}\n")
        return head + text

    def __str__(self):
        other = {"true": "false", "false": "true"}.get(self.text) or SWAPS[self.text][0]
        return f"{self.path}: {self.text} -> {other}: {self.line.strip()}"


def places():
    for path in sorted((ROOT / SOURCES).rglob("*.swift")):
        name = str(path.relative_to(ROOT))
        if not FILES.search(path.name) or OUTSIDE.search(name):
            continue
        offset = 0
        for line in path.read_text().splitlines(keepends=True):
            code = line.split("//")[0]
            quoted = code.count('"')
            # Patterns, ranges of types, defaults and declarations are no expressions.
            if not quoted and not re.match(r"\s*(case|@|import|#|static func [<=>]|typealias|infix)", code):
                for found in PLACE.finditer(code):
                    text = found[1] or found[2]
                    if found[2] and re.search(r"\b(let|var)\b[^{]*$", code[:found.start()]) and ":" in code:
                        continue
                    yield name, offset + found.start(), offset + found.end(), text, line
            offset += len(line)


def write(changes):
    """The copy with all the changes in it."""
    by_path = collections.defaultdict(list)
    for change in changes:
        by_path[change.path].append(change)
    for path in {change.path for change in changes} | written:
        text = (ROOT / path).read_text()
        for change in sorted(by_path[path], key=lambda change: -change.start):
            text = text[:change.start] + change.replacement() + text[change.end:]
        target = COPY / path
        if target.read_text() != text:
            target.write_text(text)
        written.add(path)
    (COPY / SOURCES / "Mutations.swift").write_text(
        "import Foundation\n\nprivate let chosen = Int(ProcessInfo.processInfo.environment[\"MUTATION\"] ?? \"\") ?? -1\n"
        "@inline(__always) func isMutated(_ number: Int) -> Bool { chosen == number }\n"
        "func mutated(_ number: Int, _ value: Bool) -> Bool { chosen == number ? !value : value }\n"
        + "".join(change.declaration() for change in changes if change.text in SWAPS))


written = set()


def copy():
    COPY.mkdir(exist_ok=True)
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    for name in files:
        if name.startswith("Tests/") and MEASURED_IN_COPY.search(name) and not name.startswith("Tests/EKNetworkTests"):
            continue
        target = COPY / name
        target.parent.mkdir(parents=True, exist_ok=True)
        source = ROOT / name
        if source.is_symlink() or not source.exists():
            continue
        if not target.exists() or target.read_bytes() != source.read_bytes():
            shutil.copyfile(source, target)


def build():
    """The lines at which it does not compile; None when it does."""
    done = subprocess.run(["swift", "build", "--build-tests"], cwd=COPY, capture_output=True, text=True)
    if done.returncode == 0:
        return None
    found = set()
    for path, line in re.findall(r"([^\s:]+\.swift):(\d+):\d+: error:", done.stdout):
        found.add((os.path.relpath(path, COPY), int(line)))
    if not found:
        sys.exit(done.stdout[-4000:] + done.stderr[-2000:])
    return found


def noticed(binary, number, filters, limit):
    environment = {**os.environ, "MUTATION": str(number)}
    command = [binary, "--testing-library", "swift-testing"] + (["--filter", filters] if filters else [])
    process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, cwd=COPY, start_new_session=True)
    try:
        return process.wait(timeout=limit) != 0
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.wait()
        return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--thorough", action="store_true")
    options = parser.parse_args()
    copy()
    found = list(places())
    print(f"{len(found)} places in {len({place[0] for place in found})} files")
    chosen = random.Random(options.seed).sample(found, min(len(found), options.count * 5 // 4))
    changes = [Change(number, *place) for number, place in enumerate(chosen)]
    while True:
        write(changes)
        wrong = build()
        if wrong is None:
            break
        before = len(changes)
        changes = [change for change in changes if (change.path, line_of(change)) not in wrong]
        print(f"{before - len(changes)} do not compile")
        if before == len(changes):
            sys.exit(f"it does not compile: {sorted(wrong)}")
    changes = changes[:options.count]
    show = subprocess.run(["swift", "build", "--show-bin-path"], cwd=COPY, check=True, capture_output=True, text=True)
    binary = show.stdout.strip() + "/EKNetworkPackageTests.xctest"
    begin = time.monotonic()
    if noticed(binary, -1, COMPUTE, 600):
        sys.exit("the tests fail without a change")
    patience = 60 + 4 * (time.monotonic() - begin)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda change: noticed(binary, change.number, COMPUTE, patience), changes))
    passed = [change for change, is_noticed in zip(changes, results) if not is_noticed]
    if options.thorough:
        passed = [change for change in passed if not noticed(binary, change.number, "", 900)]
    for change in passed:
        print(f"not noticed: {change}")
    print(f"{len(changes) - len(passed)} of {len(changes)} changes were noticed, in {time.monotonic() - begin:.0f} s")


def line_of(change):
    return (ROOT / change.path).read_text()[:change.start].count("\n") + 1


main()
