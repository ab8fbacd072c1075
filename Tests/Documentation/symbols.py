"""Reads the library's public symbols from its symbol graph, and compares declarations in documents with them."""
import json, pathlib, re, subprocess, tempfile
from collections import defaultdict

# Members that a public type has because of its conformances, or that only the compiler calls.
PLUMBING = re.compile(
    r"\.(?:<\(_:_:\)|init\(rawValue:\)|init\(from:\)|Element|Failure|AsyncIterator(?:\..*)?|makeAsyncIterator\(\))$"
    r"|^NetworkProgress\.Published\.(?:init\(wrappedValue:\)|wrappedValue|projectedValue)$"
    r"|^URLSession\.loadThroughEKNetwork\("
)
NOISE = {"public", "nonisolated", "nonsending", "unsafe", "convenience", "final", "any", "func", "(", ")"}
# Headings omit them.
PROPERTY = {"let", "var"}
KINDS = r"(?:public )?(?:final )?(?P<kind>class|struct|enum|protocol|actor|extension) (?P<name>[\w.]+)"


def owner_of(symbol):
    """Returns the type that a symbol is a member of; for an extension `where Self == Type`, that type."""
    for constraint in symbol.get("swiftExtension", {}).get("constraints", []):
        if constraint["kind"] == "sameType" and constraint["lhs"] == "Self":
            return [constraint["rhs"]]
    return symbol["pathComponents"][:-1]


def extract_graphs(options, folder):
    """Writes the symbol graphs of the last build of the library."""
    info = subprocess.run(["swiftc", "-print-target-info"], capture_output=True, text=True, check=True).stdout
    target = json.loads(info)["target"]["triple"]
    command = ["swift-symbolgraph-extract", "-module-name", "EKNetwork", "-target", target, *options]
    command += ["-minimum-access-level", "public", "-output-dir", str(folder)]
    subprocess.run(command, check=True)


class Library:
    """`symbols`: dotted path → its declarations; `conformances`: type → names of protocols."""

    def __init__(self, graphs):
        self.symbols, self.conformances, names = defaultdict(list), defaultdict(set), {}
        for graph in graphs:
            for symbol in graph["symbols"]:
                if "::SYNTHESIZED::" in symbol["identifier"]["precise"]:
                    continue
                path = ".".join(owner_of(symbol) + symbol["pathComponents"][-1:])
                names[symbol["identifier"]["precise"]] = path
                declaration = "".join(part["spelling"] for part in symbol["declarationFragments"])
                # The backticks around a keyword are not part of the name.
                self.symbols[path].append(declaration.replace("`", ""))
        for graph in graphs:
            for relation in graph["relationships"]:
                if relation["kind"] == "conformsTo" and relation["source"] in names:
                    target = names.get(relation["target"]) or relation.get("targetFallback", "")
                    self.conformances[names[relation["source"]]].add(target.split(".")[-1])

    @classmethod
    def built(cls, options):
        """Returns the symbols of the last build of the library."""
        with tempfile.TemporaryDirectory() as folder:
            extract_graphs(options, folder)
            return cls([json.loads(path.read_text()) for path in sorted(pathlib.Path(folder).glob("*.json"))])

    def documented_paths(self):
        """Returns the symbols that the reference must declare."""
        return {path for path in self.symbols if not PLUMBING.search(path)}


def canonical(declaration, scope, accessors, strict):
    """Returns the significant tokens of a declaration, in order. Only a strict comparison distinguishes constants."""
    text = re.sub(r"//.*", "", declaration).strip()
    text = re.sub(r"^(?:@[\w.]+\s+)+", "", text)
    if match := re.search(r"<(\w+): ([^<>]+)>\(", text):
        clauses = [f"{match.group(1)} : {name.strip()}" for name in match.group(2).split("&")]
        text = text.replace(match.group(0), f"<{match.group(1)}>(") + " where " + ", ".join(clauses)
    if text.startswith("case "):
        text = re.sub(r'^case (.*?)(?: = ".*")?$', r"\1", text)
    if not accessors:
        text = re.sub(r"\{[^{}]*\}", "", text)
    text = re.sub(r"\{\s*\}", "", text)
    words = re.findall(r'"[^"]*"|[A-Za-z_][\w.]*|\d[\d_.]*|->|\S', text)
    parts = scope.split(".") if scope else []
    for prefix in ["Self."] + [".".join(parts[:count]) + "." for count in range(len(parts), 0, -1)]:
        words = [word.removeprefix(prefix) for word in words]
    return [word for word in words if word not in (NOISE if strict else NOISE | PROPERTY)]


def base_name(declaration):
    """Returns `send` for `func send<T>(…)`, `path` for `var path: String`."""
    text = re.sub(r"^(?:@[\w.]+\s+)*", "", declaration.strip())
    keywords = r"(?:(?:public|nonisolated(?:\(\w+\))?|mutating|static|convenience|let|var|func|case|typealias|associatedtype)\s+)*"
    match = re.match(keywords + r"(\w+)", text)
    return match.group(1) if match else ""


def statements(code):
    """Yields the declarations of a block, each joined into one line, with its first line and the number of its lines."""
    pending, first = "", 0
    for number, line in enumerate(code.split("\n")):
        first = first if pending else number
        pending = (pending + " " + re.sub(r"//.*", "", line).strip()).strip()
        if pending and pending.count("(") == pending.count(")"):
            yield pending, first, number - first + 1
            pending = ""
    if pending:
        yield pending, first, 1


def match_member(library, declaration, scope, strict):
    """Returns the path of the declared symbol, and a complaint or an empty string."""
    name = base_name(declaration)
    prefix = scope + "." if scope else ""
    candidates = [
        (path, text)
        for path, texts in library.symbols.items()
        for text in texts
        if path.startswith(prefix) and re.fullmatch(re.escape(name) + r"(?:\(.*\))?", path[len(prefix) :])
    ]
    for path, text in candidates:
        read_only = text.endswith("{ get }")
        accessors = strict and ("{ get" in declaration or read_only)
        if canonical(declaration, scope, accessors, strict) == canonical(text, scope, accessors, strict):
            return path, ""
    if not candidates:
        return "", f"`{prefix}{name}` does not exist"
    return "", f"`{declaration}` differs from the library: " + " / ".join(f"`{text}`" for _, text in candidates)


def check_signature(library, code, scope):
    """Returns the paths that a signature block declares, and complaints."""
    declared, complaints, scopes = set(), [], [scope]
    for statement, _, _ in statements(code):
        if statement == "}":
            if len(scopes) == 1:
                return declared, complaints + ["more closing than opening braces"]
            scopes.pop()
        elif match := re.match(KINDS + r"(?:<(?P<generics>[^>]*)>)?(?:\s*:\s*(?P<conformances>[^{]*))?\s*\{(?P<end>\s*\})?$", statement):
            path = ".".join(filter(None, [scopes[-1], match.group("name")]))
            kind = match.group("kind")
            if kind != "extension":
                if not any(re.search(rf"\b{kind} ", text) for text in library.symbols.get(path, [])):
                    complaints.append(f"there is no {kind} `{path}`")
                declared.add(path)
            for name in re.findall(r"[\w.]+", match.group("conformances") or ""):
                if name not in library.conformances[path] and name not in ("String", "Int", "AnyObject"):
                    complaints.append(f"`{path}` does not conform to `{name}`")
            if not match.group("end"):
                scopes.append(path)
        else:
            path, complaint = match_member(library, statement, scopes[-1], strict=True)
            declared.add(path)
            if complaint:
                complaints.append(complaint)
    if len(scopes) != 1:
        complaints.append("a brace is not closed")
    return declared, complaints
