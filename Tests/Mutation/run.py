#!/usr/bin/env python3
"""Mutation testing: changes the protocol logic in small ways, one at a time, and counts the changes that the tests detect.

All changes are compiled at once, in a copy of the checkout: `a < b` becomes `a <∀∁ b`, with an operator of its own that behaves
like `<=` if the environment selects its number. This takes a single build, and a run of the tests per change: first the suites
that mention the changed type, then all that need no network, then those of the same part of the library, then all.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import random
import re
import resource
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COPY = ROOT / ".build-mutation"
SOURCES = "Sources/EKNetwork"
TESTS = "Tests/EKNetworkTests"
# Values that contain decisions; thin wrappers, options and errors are excluded. The names of whole files, and of types in others.
VALUES = re.compile(
    r"(State|Head|EventLoops|Parser|Splitter|Queue|Heap|Rules|Validator|Scanner|MessageDecoder|ChunkedDecoder|Limit|Window|Allowance|Fields|Range|Freshness|Age|Date"
    r"|Encoder|Header|Line|Policy|Backoff|Origin|Progress|Redaction|Recording|Assignments|Inflation|Identity|Syntax|Key|LRU"
    r"|Representation|Buffer|Deadline|Context|Quota|Turn|FieldList)$")
TYPE = re.compile(r"( *)(?:(?:fileprivate|private|public) )?(?:struct|enum) (\w+)")
COMPARISON, SUM = "ComparisonPrecedence", "AdditionPrecedence"
# The replacement for each operator, and the precedence of both.
SWAPS = {
    "<": ("<=", COMPARISON), "<=": ("<", COMPARISON), ">": (">=", COMPARISON), ">=": (">", COMPARISON),
    "==": ("!=", COMPARISON), "!=": ("==", COMPARISON), "+": ("-", SUM), "-": ("+", SUM),
    "&&": ("||", "LogicalConjunctionPrecedence"), "||": ("&&", "LogicalDisjunctionPrecedence"),
}
PLACE = re.compile(r" (<=|>=|<|>|==|!=|&&|\|\||\+|-) |\b(true|false)\b")
# Lines where these tokens are not expressions, or must be constants.
NO_EXPRESSION = re.compile(r"\s*(case|@|import|#|static func [<=>]|typealias|infix|while true)|.*\b(let|var|func|init)\b[^={]*: .*= (true|false)")
# The changes without an effect, as `file: line` with the token between » and «, each group followed by the reason.
EQUIVALENT = pathlib.Path(__file__).with_name("equivalent.txt")
NETWORK = re.compile(r"Loopback|Server\b|Process\(|loopback|Peer")


class Change:
    """One replacement of one token."""

    def __init__(self, number, path, start, end, text, line, column):
        self.number, self.path, self.start, self.end, self.text = number, path, start, end, text
        self.line, self.column = line, column

    @property
    def operator(self):
        """The operator, followed by the number encoded in mathematical symbols."""
        return self.text + chr(0x2200 + self.number // 64) + chr(0x2240 + self.number % 64)

    @property
    def replacement(self):
        return f" {self.operator} " if self.text in SWAPS else f"mutated({self.number}, {self.text})"

    def declaration(self):
        other, precedence = SWAPS[self.text]
        either = f"isMutated({self.number}) ? a {other} b : a {self.text} b"
        if precedence == COMPARISON:
            kind = "Equatable" if self.text in ("==", "!=") else "Comparable"
            functions = [f"<T: {kind}>(a: T, b: T) -> Bool {{ {either} }}"]
            if kind == "Equatable":
                functions.append(f"<T>(a: T?, b: _OptionalNilComparisonType) -> Bool {{ {either} }}")
        elif precedence == SUM:
            functions = [f"<T: AdditiveArithmetic>(a: T, b: T) -> T {{ {either} }}"]
        else:
            functions = [f"(a: Bool, b: @autoclosure () throws -> Bool) rethrows -> Bool "
                         f"{{ isMutated({self.number}) ? try a {other} b() : try a {self.text} b() }}"]
        return f"infix operator {self.operator}: {precedence}\n" + "".join(
            f"func {self.operator} {function}\n" for function in functions)

    def line_number(self):
        return (ROOT / self.path).read_text()[:self.start].count("\n") + 1

    def __str__(self):
        other = SWAPS[self.text][0] if self.text in SWAPS else {"true": "false", "false": "true"}[self.text]
        return f"{self.path}:{self.line_number()}, {other} for {marked(self.start, self.end, self.text, self.line, self.column)}"


def marked(start, end, text, line, column):
    """Returns the line with the changed token between » and «."""
    return f"{line[:column].strip()} »{text}« {line[column + end - start:].strip()}".strip()


def equivalent(found):
    """Returns the places that are listed as equivalent, each of which must exist. Lines that are equal are listed once."""
    listed = {line for line in EQUIVALENT.read_text().splitlines() if "»" in line}
    names = {place: f"{place[0].removeprefix(SOURCES + '/')}: {marked(*place[1:])}" for place in found}
    if unknown := listed.difference(names.values()):
        sys.exit("equivalent.txt lists changes that do not exist:\n" + "\n".join(sorted(unknown)))
    return {place for place, name in names.items() if name in listed}


def places():
    for path in sorted((ROOT / SOURCES).rglob("*.swift")):
        is_value = bool(VALUES.search(path.stem))
        # The indentation of the type that is being read.
        value = None
        offset = 0
        compiled = []
        for line in path.read_text().splitlines(keepends=True):
            code = line.split("//")[0]
            condition = re.match(r"\s*#(if|else|endif)(.*)", code)
            if condition and condition[1] == "if":
                compiled.append(bool(re.match(r" (os\(Linux|canImport\(Found|canImport\(G|!can|_endian)", condition[2])))
            elif condition:
                was = compiled.pop()
                compiled += [not was] if condition[1] == "else" else []
            if value is None and (found := TYPE.match(code)) and VALUES.search(found[2]) and code.rstrip().endswith("{"):
                value = found[1]
            elif value is not None and code.rstrip() == value + "}":
                value = None
            if (is_value or value is not None) and all(compiled) and '"' not in code and not NO_EXPRESSION.match(code):
                for found in PLACE.finditer(code):
                    yield (str(path.relative_to(ROOT)), offset + found.start(), offset + found.end(), found[1] or found[2], line,
                           found.start())
            offset += len(line)


def write(changes, paths):
    """Writes these files with all changes to the copy."""
    by_path = collections.defaultdict(list)
    for change in changes:
        by_path[change.path].append(change)
    for path in paths:
        text = (ROOT / path).read_text()
        for change in sorted(by_path[path], key=lambda change: -change.start):
            text = text[:change.start] + change.replacement + text[change.end:]
        if (COPY / path).read_text() != text:
            (COPY / path).write_text(text)
    (COPY / SOURCES / "Mutations.swift").write_text(
        "import Foundation\n\nprivate let chosen = Int(ProcessInfo.processInfo.environment[\"MUTATION\"] ?? \"\") ?? -1\n"
        "@inline(__always) func isMutated(_ number: Int) -> Bool { chosen == number }\n"
        "func mutated(_ number: Int, _ value: Bool) -> Bool { chosen == number ? !value : value }\n"
        + "".join(change.declaration() for change in changes if change.text in SWAPS))


def copy():
    """Copies the files under version control, which include everything that the tests read."""
    for name in subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines():
        source, target = ROOT / name, COPY / name
        if source.is_symlink() or not source.exists():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_bytes() != source.read_bytes():
            shutil.copyfile(source, target)


def build():
    """Builds the copy; returns the lines that do not compile."""
    done = subprocess.run(["swift", "build", "--build-tests"], cwd=COPY, capture_output=True, text=True)
    if done.returncode == 0:
        return set()
    found = re.findall(r"([^\s:]+\.swift):(\d+):\d+: error:", done.stdout + done.stderr)
    if not found:
        sys.exit(done.stdout[-4000:] + done.stderr[-2000:])
    return {(os.path.relpath(path, COPY), int(line)) for path, line in found}


def suites(mentioning=None, part=None):
    """Returns a filter for the suites that mention a type, belong to a part of the library, or need no network."""
    found = set()
    for path in sorted((ROOT / TESTS).rglob("*Tests.swift")):
        text = path.read_text()
        if mentioning:
            is_meant = re.search(rf"\b{mentioning}", text)
        elif part:
            is_meant = path.relative_to(ROOT / TESTS).parts[0] == part
        else:
            is_meant = not NETWORK.search(text)
        if is_meant:
            found.update(re.findall(r"\b(?:struct|class|actor|enum) (\w+Tests)\b", text))
    return rf"\.({'|'.join(sorted(found))})/" if found else None


def limits():
    # A change can cause a loop that allocates endlessly.
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def fails(binary, number, tests, seconds):
    """Runs tests with a change, or with none if the number is negative; returns how they fail, or `None` if they pass."""
    command = [binary, "--testing-library", "swift-testing"] + (["--filter", tests] if tests else [])
    environment = {**os.environ, "MUTATION": str(number), "SWIFT_BACKTRACE": "enable=no"}
    process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, cwd=COPY, start_new_session=True, preexec_fn=limits)
    try:
        return "failed" if process.wait(timeout=seconds) else None
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.wait()
        return "took too long"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100, help="the number of changes to try; 100 by default")
    parser.add_argument("--seed", type=int, default=1, help="the seed for the random selection; 1 by default")
    parser.add_argument("--least", type=int, default=0, help="fail if a smaller percentage of them is detected")
    parser.add_argument("--places", action="store_true", help="only check that the listed places exist")
    options = parser.parse_args()
    found = list(places())
    excluded = equivalent(found)
    print(f"{len(found)} places in {len({place[0] for place in found})} files, {len(excluded)} of them without an effect",
          flush=True)
    if options.places:
        return
    copy()
    chosen = random.Random(options.seed).sample(found, min(len(found), options.count * 4 // 3))
    changes = [Change(number, *place) for number, place in enumerate(chosen) if place not in excluded]
    paths = {change.path for change in changes}
    while True:
        write(changes, paths)
        wrong = build()
        if not wrong:
            break
        compiling = [change for change in changes if (change.path, change.line_number()) not in wrong]
        print(f"{len(changes) - len(compiling)} changes do not compile", flush=True)
        if len(compiling) == len(changes):
            # The error may be on another line than the change that caused it.
            compiling = [change for change in changes if change.path not in {path for path, _ in wrong}]
        if len(compiling) == len(changes):
            sys.exit(f"the copy does not compile: {sorted(wrong)}")
        changes = compiling
    changes = changes[:options.count]
    show = subprocess.run(["swift", "build", "--show-bin-path"], cwd=COPY, check=True, capture_output=True, text=True)
    binary = show.stdout.strip() + "/EKNetworkPackageTests.xctest"
    begin = time.monotonic()
    everything = suites()
    if how := fails(binary, -1, everything, 600):
        sys.exit(f"without any change, the tests without network: {how}")
    patience = 60 + 4 * (time.monotonic() - begin)
    # Otherwise, whatever makes them fail in the copy would detect every change.
    if how := fails(binary, -1, None, 600):
        sys.exit(f"without any change, all tests: {how}")
    kinds = collections.Counter()

    def detected_without_network(change):
        near = suites(pathlib.Path(change.path).stem)
        return near and fails(binary, change.number, near, patience) or fails(binary, change.number, everything, patience)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(detected_without_network, changes))
    kinds.update(filter(None, found))
    left = [change for change, how in zip(changes, found) if not how]
    print(f"{len(changes) - len(left)} of {len(changes)} are detected without the network, "
          f"in {time.monotonic() - begin:.0f} s", flush=True)
    for change in left:
        print(f"  {change}", flush=True)
    passed = []
    for change in left:
        near = suites(part=pathlib.Path(change.path).parts[2])
        if how := near and fails(binary, change.number, near, 300) or fails(binary, change.number, None, 600):
            kinds[how] += 1
        else:
            passed.append(change)
            print(f"not detected: {change}", flush=True)
    left = passed
    noticed = 100 * (len(changes) - len(left)) / len(changes)
    print(f"{noticed:.0f} % of {len(changes)} changes were detected, in {time.monotonic() - begin:.0f} s; the tests of "
          f"{kinds['failed']} failed, those of {kinds['took too long']} took too long")
    sys.exit(noticed < options.least)


if __name__ == "__main__":
    main()
