#!/usr/bin/env python3
"""Compiles the Swift blocks of the documentation for macOS: documents.py MAPS. Started by check.sh.

Code for Linux only is marked by `#if os(Linux)` in the block.
"""
import concurrent.futures, os, pathlib, re, subprocess, sys, tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "Tests/Documentation"))
from documents import blocks

PRELUDE = ROOT / "Tests/Documentation/prelude.swift"
IMPORT = re.compile(r"^import EKNetwork$", re.M)


def named_blocks():
    """Returns the (document, block) pairs to compile. Blocks that several documents share are compiled once."""
    articles = sorted((ROOT / "Sources/EKNetwork/EKNetwork.docc").rglob("*.md"))
    found = {}
    for path in [ROOT / name for name in ("README.md", "API.md", "API_RU.md")] + articles:
        for block in blocks(path.read_text()):
            if block.context in ("file", "body", "run"):
                found.setdefault((block.context == "file", block.code), (str(path.relative_to(ROOT)), block))
    return list(found.values())


def programs(pairs):
    """Yields the programs to compile: one with all statement blocks in functions, and one for each block of declarations."""
    bodies = ["import EKNetwork\n"]
    for index, (name, block) in enumerate(pairs):
        location = f'#sourceLocation(file: "{name}", line: {block.line})\n'
        if block.context == "file":
            alone = IMPORT.search(block.code)
            yield ("" if alone else "import EKNetwork\n") + location + block.code, not alone
        else:
            bodies.append(f"func block{index}() async throws {{\n{location}{block.code}#sourceLocation()\n}}\n")
    yield "".join(bodies), True


def complaints(program, maps):
    text, has_prelude = program
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "block.swift"
        file.write_text(text)
        command = ["bash", str(HERE / "compile.sh"), "macos", "Block", "sil", "-parse-as-library", "-wmo", "-I", maps, str(file)]
        result = subprocess.run(command + [str(PRELUDE)] * has_prelude, capture_output=True, text=True)
    lines = [line for line in result.stderr.splitlines() if re.search(r"(error|warning): ", line)]
    return lines or ([result.stderr] if result.returncode else [])


def main():
    pairs = named_blocks()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        found = sum(pool.map(lambda program: complaints(program, sys.argv[1]), programs(pairs)), [])
    print("\n".join(found) or f"{len(pairs)} blocks")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
