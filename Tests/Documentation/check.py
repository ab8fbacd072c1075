#!/usr/bin/env python3
"""Checks the documentation against the last build of the library: check.py [--self-test | --update]

--update writes the library's declarations into API.md and API_RU.md, where they differ or are missing.

Every Swift block of README.md, API.md, API_RU.md and the articles of the DocC catalog is compiled in Swift 6 mode, both as it is
and in a module that is isolated to the main actor. The comment
before a block gives its context; a block without one must compile on its own:
  context: file               declarations, with Tests/Documentation/prelude.swift unless they import EKNetwork
                              themselves
  context: nonisolated file   like file, but not for a module that is isolated to the main actor
  context: main actor file    like file, only for such a module
  context: body               statements of an async throwing function, with the prelude
  context: run                like body, and is also run against the loopback server and must succeed
  context: signature          declarations exactly as the library's symbol graph has them
  context: signature of Type  like signature, for members of a type
  context: manifest           a piece of a package manifest, not compiled
  context: recipe of File     whole lines of that file of Tests/Recipes, which compiles and tests it; together the
                              articles contain every line of each file
Every public symbol must be declared in API.md, in such a block or in a heading of its type's chapter, and every symbol
declared there must exist. API.md and API_RU.md must have the same structure and, except for comments, the same blocks. Links
between the documents must resolve. The DocC catalog, including every documentation comment, must build without warnings.
"""
import pathlib, re, sys, tempfile

sys.dont_write_bytecode = True
from catalog import CATALOG, catalog_complaints
from compiling import ROOT, build_folder, compile_all, library_options
from declarations import updated, written
from documents import CONTEXTS, anchor, blocks, headings, local_links, prose, shape, unclosed
from running import run_all
from symbols import Library, check_signature, extract_graphs, match_member

RECIPES = ROOT / "Tests/Recipes/Sources/Recipes"
# Symbols that the reference names and that are not part of the library.
FOREIGN = {
    "data(for:)", "assign(to:)", "InputStream(data:)", "UTF8.self", "registerClass(_:)",
    "application(_:handleEventsForBackgroundURLSession:completionHandler:)",
}


def declared_in(name, text, library):
    """Returns the symbols that a reference declares in its headings and signature blocks, and complaints about them."""
    declared, complaints, chapter = set(), [], ""
    for heading in headings(text):
        types = [word for word in re.findall(r"\w+", heading.text) if word in library.symbols]
        if heading.level <= 3 and types and not heading.text.startswith("`"):
            chapter = types[0]
        elif heading.level <= 2:
            chapter = ""
        if match := re.fullmatch(r"`([^`]+)`", heading.text):
            path, complaint = match_member(library, match.group(1), chapter, strict=False)
            declared.add(path)
            complaints += [f"{name}:{heading.line}: {complaint}"] if complaint else []
    for block in blocks(text):
        if block.context == "signature":
            paths, found = check_signature(library, block.code, block.scope)
            declared |= paths
            complaints += [f"{name}:{block.line}: {complaint}" for complaint in found]
    return declared, complaints


def unknown_spans(name, text, library):
    """Yields code spans such as `Type.member` and `name(label:)` that match nothing in the library."""
    members = {path.split(".", 1)[-1].split(".")[-1] for path in library.symbols}
    bases = {re.sub(r"\(.*", "", path) for path in library.symbols}
    for number, line in prose(text):
        if line.startswith("#"):
            continue
        for span in re.findall(r"`([^`]+)`", line):
            if re.fullmatch(r"\w+\((?:\w+:)+\)", span):
                # Trailing parameters with defaults may be omitted.
                if span not in FOREIGN and not any(member.startswith(span[:-1]) for member in members):
                    yield f"{name}:{number}: `{span}` does not exist"
            elif match := re.match(r"([A-Z]\w+)\.(\w+)\b", span):
                if match.group(1) in library.symbols and match.group(0) not in bases:
                    yield f"{name}:{number}: `{match.group(0)}` does not exist"


def broken_links(texts):
    for name, text in texts.items():
        for number, target in local_links(text):
            file, _, fragment = target.partition("#")
            file = file or name
            if file not in texts and not (ROOT / file).exists():
                yield f"{name}:{number}: {file} does not exist"
            elif fragment:
                known = texts.get(file) or (ROOT / file).read_text()
                if fragment not in {anchor(heading.text) for heading in headings(known)}:
                    yield f"{name}:{number}: {file} has no heading #{fragment}"


def check(texts, library, options):
    """Returns all complaints about documents, given as {name: text}."""
    complaints, to_compile = [], []
    for name, text in texts.items():
        if line := unclosed(text):
            complaints.append(f"{name}:{line}: the block is not closed")
        for block in blocks(text):
            if block.context not in CONTEXTS:
                complaints.append(f"{name}:{block.line}: the context {block.context} is unknown")
            elif block.context in ("file", "nonisolated file", "main actor file", "body", "run"):
                to_compile.append((name, block))
    complaints += compile_all(to_compile, options) + list(recipe_complaints(texts))
    if not complaints:
        complaints += run_all([pair for pair in to_compile if pair[1].context == "run"], options, build_folder())
    for name, text in texts.items():
        complaints += unknown_spans(name, text, library)
        declared, found = declared_in(name, text, library)
        complaints += found
        if name.startswith("API"):
            complaints += [f"{name}: `{path}` is not declared" for path in sorted(library.documented_paths() - declared)]
    if "API.md" in texts and "API_RU.md" in texts:
        complaints += differences(texts["API.md"], texts["API_RU.md"])
    return complaints + list(broken_links(texts))


def recipe_complaints(texts):
    """Yields recipe blocks that do not match their file."""
    for name, text in texts.items():
        for block in blocks(text):
            if block.context == "recipe":
                file = RECIPES / block.scope
                if not file.is_file() or "\n" + block.code not in "\n" + file.read_text():
                    yield f"{name}:{block.line}: differs from {block.scope}"


def missing_recipes(texts):
    """Yields recipes with lines that no document contains."""
    shown = {}
    for text in texts.values():
        for block in blocks(text):
            if block.context == "recipe":
                shown.setdefault(block.scope, set()).update(block.code.splitlines())
    for file in sorted(RECIPES.glob("*.swift")):
        if set(file.read_text().splitlines()) - shown.get(file.name, set()):
            yield f"{file.relative_to(ROOT)}: the articles do not contain all of it"


def without_comments(code):
    """Returns the code without comments, which are in the language of the document."""
    return [re.sub(r"(^|\s+)//.*", "", line).rstrip() for line in code.split("\n")]


def differences(english, russian):
    """Yields the differences between the two references."""
    pairs = zip(blocks(english), blocks(russian))
    for one, other in pairs:
        if one[:2] != other[:2] or without_comments(one.code) != without_comments(other.code):
            yield f"API_RU.md:{other.line}: differs from the block at API.md:{one.line}"
            break
    if len(blocks(english)) != len(blocks(russian)):
        yield f"API.md has {len(blocks(english))} blocks, API_RU.md {len(blocks(russian))}"
    titles = [heading.text for heading in headings(english)]
    for index, (one, other) in enumerate(zip(shape(english), shape(russian))):
        if one != other:
            title = titles[index - 1] if index else "the beginning"
            yield f"API_RU.md: its headings, lists, tables or blocks differ from API.md after \"{title}\""
            return
    if len(shape(english)) != len(shape(russian)):
        yield "API.md and API_RU.md have different numbers of headings"


def self_test(library, options, extract):
    """Checks that each kind of fault is found and that a correct document passes."""
    good = (
        "# A\n<!-- context: body -->\n```swift\nlet user: User = try await manager.send(GetUser(id: 1))\nprint(user)\n```\n"
        "<!-- context: signature of HTTPError -->\n```swift\npublic let statusCode: Int\n```\n[A](#a) `HTTPError.data`\n"
    )
    faults = {
        "a block that does not compile": {"a.md": good.replace("GetUser", "GetUsers")},
        "a block that is not Swift 6": {"a.md": "```swift\nimport EKNetwork\nvar shared = 1\n```\n"},
        "a block that does not compile on its own": {"a.md": "```swift\nimport EKNetwork\nlet user: User? = nil\n```\n"},
        "a block that throws an error": {
            "a.md": "<!-- context: run -->\n```swift\n_ = try await manager.send(MyEventsRequest())\nthrow URLError(.badURL)\n```\n"
        },
        "a recipe that differs from its file": {"a.md": "<!-- context: recipe of UserModel.swift -->\n```swift\nimport EKNetwork_\n```\n"},
        "a recipe without a file": {"a.md": "<!-- context: recipe of Nothing.swift -->\n```swift\nimport EKNetwork\n```\n"},
        "an unknown context": {"a.md": good.replace("context: body", "context: bodies")},
        "a member that does not exist": {"a.md": good.replace("let statusCode", "let status")},
        "a constant that is declared as a variable": {"a.md": good.replace("let statusCode", "var statusCode")},
        "a block that is not closed": {"a.md": good + "```swift\nimport EKNetwork\n"},
        "a member of another type": {"a.md": good.replace("statusCode: Int", "statusCode: String")},
        "a conformance that does not exist": {
            "a.md": "<!-- context: signature -->\n```swift\npublic struct HTTPError: Hashable {\n}\n```\n"
        },
        "a heading that does not exist": {"a.md": "## HTTPError\n### `status: Int`\n"},
        "a span that does not exist": {"a.md": good.replace("HTTPError.data", "HTTPError.bytes")},
        "a broken link": {"a.md": good.replace("#a)", "#b)")},
        "headings that differ": {"API.md": "# A\n", "API_RU.md": "## A\n"},
        "blocks that differ": {"API.md": good, "API_RU.md": good.replace("id: 1", "id: 2")},
        "a list that differs": {"API.md": good + "- a\n", "API_RU.md": good},
        "a symbol that is not declared": {"API.md": good},
    }
    if complaints := check({"a.md": good}, library, options):
        sys.exit("self-test: a correct document is rejected:\n" + "\n".join(complaints))
    # The symbols missing from a two-line reference would hide every other fault.
    complete = Library([])
    complete.symbols, complete.conformances = library.symbols, library.conformances
    for fault, texts in faults.items():
        complete.documented_paths = library.documented_paths if "not declared" in fault else set
        if not check(texts, complete, options):
            sys.exit(f"self-test: {fault} is not found")
    with tempfile.TemporaryDirectory() as folder:
        catalog = pathlib.Path(folder) / CATALOG
        catalog.mkdir(parents=True)
        (catalog / "EKNetwork.md").write_text("# ``EKNetwork``\n\nSee ``HTTPError/nothing``.\n")
        if not any("nothing" in found for found in catalog_complaints(pathlib.Path(folder), extract)):
            sys.exit("self-test: a broken symbol link is not found")
    reference = (ROOT / "API.md").read_text()
    outdated = re.sub(r"\n *public let statusCode: Int\n", "\npublic let status: Int\n", reference)
    outdated = re.sub(r"\npublic static var transientFailures: .*\n", "\n", outdated)
    new, missing = updated(outdated, library, declared_in("API.md", outdated, library)[0])
    declared, found = declared_in("API.md", new, library)
    if outdated == reference or found or missing or library.documented_paths() - declared:
        sys.exit(f"self-test: --update does not mend the reference: {found} {missing}")
    if not list(missing_recipes({"a.md": good})):
        sys.exit("self-test: a recipe missing from all documents is not found")
    print(f"self-test: {len(faults) + 2} kinds of faults are found")


def update(library):
    """Writes the declarations of the references as the library has them."""
    for name in ("API.md", "API_RU.md"):
        text = (ROOT / name).read_text()
        new, missing = updated(text, library, declared_in(name, text, library)[0])
        (ROOT / name).write_text(new)
        for path in missing:
            print(f"{name}: no block declares members of the type of `{path}`:")
            print("\n".join(written(declaration) for declaration in library.symbols[path]))


def main():
    options = library_options()
    library = Library.built(options)
    extract = lambda folder: extract_graphs(options, folder)
    if "--self-test" in sys.argv:
        return self_test(library, options, extract)
    if "--update" in sys.argv:
        return update(library)
    texts = {name: (ROOT / name).read_text() for name in ("README.md", "API.md", "API_RU.md")}
    articles = sorted((ROOT / CATALOG).rglob("*.md"))
    texts |= {str(path.relative_to(ROOT)): path.read_text() for path in articles}
    complaints = check(texts, library, options)
    complaints += list(missing_recipes(texts)) + catalog_complaints(ROOT, extract)
    count = sum(len(blocks(text)) for text in texts.values())
    print("\n".join(complaints) or f"{count} blocks and {len(library.documented_paths())} public symbols: no complaints")
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()
