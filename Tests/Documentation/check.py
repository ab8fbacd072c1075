#!/usr/bin/env python3
"""Checks the documentation against the library: check.py [--self-test]

Compiles every Swift block of README.md, API.md and API_RU.md in Swift 6 mode against the library as it was built last
(`swift build`). The comment before a block says what surrounds it:
  context: body       statements, inside an async throwing function, with Tests/Documentation/prelude.swift around it
  context: file       declarations, likewise
  context: signature  declarations as the library has them: each of their lines has to be found in the sources
  context: manifest   a piece of a package manifest, not compiled
API.md and API_RU.md must have the same headings levels and the same blocks, and name every public type.
"""
import pathlib, re, subprocess, sys, tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"(?:<!-- context: (\w+) -->\n)?```swift\n(.*?)```", re.S)


def blocks(text):
    return [(match.group(1) or "file", match.group(2), text[: match.start()].count("\n") + 1) for match in BLOCK.finditer(text)]


def modules():
    path = subprocess.run(["swift", "build", "--show-bin-path"], cwd=ROOT, capture_output=True, text=True, check=True)
    return pathlib.Path(path.stdout.strip())


def compile_block(context, code, bin_path, folder):
    """The compiler's errors, or an empty string."""
    source = folder / "block.swift"
    standalone = "import EKNetwork" in code
    if context == "body":
        source.write_text("import EKNetwork\nfunc block() async throws {\n" + code + "\n}\n")
    else:
        source.write_text(("" if standalone else "import EKNetwork\n") + code)
    files = [str(source)] + ([] if standalone else [str(ROOT / "Tests/Documentation/prelude.swift")])
    include = ["-I", str(bin_path / "Modules"), "-I", str(ROOT / "Sources/CCurl/include")]
    modulemap = bin_path / "CCurl.build" / "module.modulemap"
    if modulemap.exists():
        include += ["-Xcc", f"-fmodule-map-file={modulemap}"]
    command = ["swiftc", "-typecheck", "-parse-as-library", "-swift-version", "6", *include, *files]
    result = subprocess.run(command, capture_output=True, text=True)
    return "" if result.returncode == 0 else "\n".join(line for line in result.stderr.splitlines() if "error:" in line)


def words(line):
    return re.findall(r"[A-Za-z_]\w*", line.split("//")[0])


def missing_signature(code, sources):
    """The first line of a declaration whose words the sources do not have in that order, or an empty string."""
    for line in code.splitlines():
        wanted = [word for word in words(line) if word not in ("public", "get", "set", "nonisolated", "Sendable", "Equatable", "any", "CaseIterable")]
        if wanted and not re.search(r"\W+(?:\w+\W+){0,3}?".join(map(re.escape, wanted)), sources):
            return line.strip()
    return ""


def public_types(sources):
    kinds = r"^public (?:final )?(?:class|struct|enum|protocol|actor|typealias) (\w+)"
    return sorted(set(re.findall(kinds, sources, re.M)))


def check(texts, bin_path):
    """All complaints about documents, given as {name: text}."""
    sources = "\n".join(path.read_text() for path in sorted((ROOT / "Sources/EKNetwork").rglob("*.swift")))
    complaints, seen = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            for context, code, line in blocks(text):
                if context == "manifest":
                    continue
                if (context, code) not in seen:
                    if context == "signature":
                        seen[context, code] = missing_signature(code, sources)
                    else:
                        seen[context, code] = compile_block(context, code, bin_path, pathlib.Path(folder))
                if seen[context, code]:
                    complaints.append(f"{name}:{line}: {seen[context, code]}")
    english, russian = texts.get("API.md"), texts.get("API_RU.md")
    if english is not None and russian is not None:
        if re.findall(r"^#+(?= )", english, re.M) != re.findall(r"^#+(?= )", russian, re.M):
            complaints.append("API.md and API_RU.md: their headings differ")
        if [block[:2] for block in blocks(english)] != [block[:2] for block in blocks(russian)]:
            complaints.append("API.md and API_RU.md: their blocks differ")
        for name in ("API.md", "API_RU.md"):
            for type_name in public_types(sources):
                if not re.search(rf"\b{type_name}\b", texts[name]):
                    complaints.append(f"{name}: the public type {type_name} is not mentioned")
    return complaints


def self_test(bin_path):
    """Each kind of fault has to be found, and what is right let through."""
    good = "# A\n<!-- context: body -->\n```swift\nlet user: User = try await manager.send(GetUser(id: 1))\nprint(user)\n```\n"
    faults = {
        "a block that does not compile": {"a.md": good.replace("GetUser", "GetUsers")},
        "a signature that does not exist": {"a.md": "<!-- context: signature -->\n```swift\npublic func vanish(now: Bool)\n```\n"},
        "headings that differ": {"API.md": "# A\n", "API_RU.md": "## A\n"},
        "blocks that differ": {"API.md": good, "API_RU.md": good.replace("id: 1", "id: 2")},
        "a type that is not mentioned": {"API.md": "# A\n", "API_RU.md": "# A\n"},
    }
    if check({"a.md": good}, bin_path):
        sys.exit("self-test: a good block is refused: " + "\n".join(check({"a.md": good}, bin_path)))
    for fault, texts in faults.items():
        if not check(texts, bin_path):
            sys.exit(f"self-test: {fault} is not found")
    print(f"self-test: {len(faults)} kinds of faults are found")


def main():
    bin_path = modules()
    if "--self-test" in sys.argv:
        return self_test(bin_path)
    texts = {name: (ROOT / name).read_text() for name in ("README.md", "API.md", "API_RU.md")}
    complaints = check(texts, bin_path)
    print("\n".join(complaints) or f"{sum(len(blocks(text)) for text in texts.values())} blocks are in order")
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()
