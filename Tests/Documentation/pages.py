#!/usr/bin/env python3
"""Compiles the blocks of the pages that the library implements, if they are available: pages.py FOLDER

The pages are plain text without code fences, so every block is identified here by its first and last line. Blocks that cannot
compile on any platform are listed with a change that keeps their intent; the article
"Differences from the reference" explains each. Its table of additions must be complete: what the reference declares and the pages do
not name.
"""
import pathlib, re, sys

sys.dont_write_bytecode = True
from catalog import CATALOG
from compiling import ROOT, compile_block, library_options
from documents import Block
from symbols import Library, check_signature

# The context of a page's blocks: the declarations that its prose assumes.
USER = """
struct User: PrismEntity, Sendable { let id: String; let name: String; let email: String }
enum UserEndpoint: PrismNetworkEndpoint { case get(id: String); var host: String { "h" }; var path: String { "/" } }
struct GetUserRequest: PrismNetworkRequest {
  typealias Response = User
  let endpoint: UserEndpoint
  init(id: String) { endpoint = .get(id: id) }
}
let client = PrismNetworkAdapter()
"""
PRODUCT = """
enum ProductEndpoint: PrismNetworkEndpoint {
  case list(page: Int, limit: Int)
  var host: String { "api.store.com" }
  var path: String { "/v1/products" }
}
"""
CACHE = "let cache = PrismResponseCache(maxSize: 100)\nlet data = Data()\nlet responseData = Data()\n"
PATH = "    var path: String { \"/\" }\n    var method: HTTPMethod { .get }\n"
MANAGER = """
let manager = NetworkManager(baseURL: URL(string: "https://api.example.com")!)
let networkManager = manager
struct SignInRequest: NetworkRequest {
  typealias Response = EmptyResponse
  let email: String, password: String
  var path: String { "/" }
  var method: HTTPMethod { .post }
}
final class TokenStore: @unchecked Sendable {  // Unchecked: never run.
  static let shared = TokenStore()
  var accessToken = "", refreshToken = ""
}
struct RefreshTokenRequest: NetworkRequest {
  struct Response: Decodable, Sendable { let accessToken: String }
  let refreshToken: String
  var path: String { "/" }
  var method: HTTPMethod { .post }
}
struct MyCustomResponse: Decodable, Sendable { let status: Int; let customHeader: String? }
struct AppSettings: Sendable { static let shared = AppSettings(); var apiBaseURL: URL { URL(fileURLWithPath: "/") } }
struct MyEventsRequest: NetworkRequest {
  typealias Response = EmptyResponse
  var path: String { "/" }
  var method: HTTPMethod { .get }
}
enum SearchEvent: Decodable, Sendable { case player, end }
enum DeviceHeaders { static func current() -> [String: String] { [:] } }
func handle(_ event: SearchEvent) {}
func process(_ payload: String) {}
"""

# (page, first line, last line, kind, context, changes)
# Kinds: file, body; signature, with the type whose members it declares; members, of a type that the context opens.
BLOCKS = [
    (0, 16, 26, "signature", "", []),
    (0, 33, 100, "file", "", [(
        'return ["name": name, "price": price] as [String: Any]', 'return ["name": name, "price": "\\(price)"]')]),
    (0, 125, 141, "body", "", []),
    (0, 147, 157, "body", PRODUCT, []),
    (0, 164, 170, "members", "enum E: PrismNetworkEndpoint { case list, detail, other\n"
        'var host: String { "h" }\nvar path: String { "/" }\n', []),
    (0, 181, 186, "members", "enum E: PrismNetworkEndpoint { case upload, other\n"
        'var host: String { "h" }\nvar path: String { "/" }\n', []),
    (0, 192, 213, "file", 'enum TokenStore { static let accessToken = "" }', [("{ /* ... */ }", '{ "/" }')]),
    (1, 33, 69, "file", "", []),
    (1, 75, 95, "file", "page 1 33 69", []),
    (1, 100, 107, "body", "page 1 33 69\npage 1 75 95", []),
    (1, 113, 119, "body", USER, []),
    (1, 125, 128, "body", USER, []),
    (1, 134, 145, "body", "", []),
    (1, 151, 164, "body", USER, []),
    (1, 171, 189, "file", "", []),
    (2, 19, 35, "body", USER + CACHE, []),
    (2, 46, 53, "body", CACHE, []),
    (2, 59, 67, "body", CACHE, []),
    (2, 76, 79, "signature", "", []),
    (2, 85, 93, "body", "", []),
    (2, 101, 106, "body", "", []),
    (2, 112, 137, "file", "", []),
    (2, 143, 181, "file", "", [
        ("    func fetch<T: Decodable & Sendable>(", "    func fetch<Request: PrismNetworkRequest>("),
        ("        request: some PrismNetworkRequest", "        request: Request"),
        ("-> T where T == request.Response", "-> Request.Response where Request.Response: Encodable"),
        ("decode(T.self", "decode(Request.Response.self")]),
    (3, 31, 61, "file", "", []),
    (3, 68, 81, "body", "page 3 31 61", []),
    (3, 91, 111, "file", "", []),
    (3, 114, 121, "body", "page 3 91 111\nlet socket = PrismNetworkSocketAdapter()", []),
    (3, 128, 136, "file", "page 3 31 61", []),
    (3, 139, 140, "body", "page 3 31 61\npage 3 128 136\nlet socket = PrismNetworkSocketAdapter()", []),
    (3, 145, 182, "file", "page 3 31 61\npage 3 91 111", []),
    (3, 187, 204, "body", "page 3 31 61\npage 3 91 111\npage 3 145 182", []),
    (4, 29, 36, "signature NetworkManager", "", [
        ("JSONDecoder)? = nil\n", "JSONDecoder)? = nil,\n    transport: TransportChoice = .automatic,\n    defaults: RequestDefaults = RequestDefaults()\n")]),
    (4, 49, 50, "body", MANAGER, []),
    (4, 52, 53, "body", MANAGER, []),
    (4, 55, 56, "body", MANAGER, []),
    (4, 93, 96, "body", MANAGER, []),
    (4, 164, 167, "file", "", [("    // emptyResponseHandler", PATH + "    // emptyResponseHandler")]),
    (4, 173, 176, "file", "", [("    // emptyResponseHandler", PATH + "    // emptyResponseHandler")]),
    (4, 182, 193, "file", MANAGER, [("        \n", PATH)]),
    (4, 231, 241, "signature", "", []),
    (4, 330, 335, "signature MultipartFormData", "", []),
    (4, 382, 397, "apple", "", []),
    (4, 411, 419, "file", MANAGER, []),
    (4, 429, 434, "signature", "", []),
    (4, 440, 450, "signature", "", [
        ("let bytes: AsyncThrowingStream<UInt8, Error>", "var bytes: AsyncThrowingStream<UInt8, Error> { get }")]),
    (4, 459, 461, "signature", "", []),
    (4, 477, 480, "signature", "", []),
    (4, 484, 491, "file", MANAGER, []),
    (4, 493, 501, "body", MANAGER + "page 4 484 491", []),
    (4, 505, 510, "body", MANAGER, []),
    (4, 518, 518, "signature", "", []),
    (4, 524, 531, "signature", "", []),
    (4, 537, 545, "signature", "", [
        ('{\n        "Request failed with status code \\(statusCode)"\n    }', "{ get }")]),
    (4, 553, 556, "signature", "", []),
    (4, 564, 566, "signature", "", []),
    (4, 586, 593, "signature UserAgentConfiguration", "", []),
    (4, 610, 613, "signature", "", []),
    (4, 619, 621, "signature", "", []),
]


def ours(code):
    """Returns the code with this module's name; the socket page's types are part of this library."""
    return re.sub(r"^import (PrismNetwork|Network)$", "import EKNetwork", code, flags=re.M)


class Pages:
    def __init__(self, folder):
        self.lines = {}
        for path in sorted(pathlib.Path(folder).glob("00[0-4]_*.txt")):
            self.lines[int(path.name[:3])] = [""] + path.read_text().split("\n")
        if sorted(self.lines) != [0, 1, 2, 3, 4]:
            raise SystemExit(f"{folder} does not contain the five pages")

    def code(self, page, first, last):
        return "\n".join(self.lines[page][first:last + 1]) + "\n"

    def surroundings(self, text):
        """Replaces lines of the form `page P F L` with those lines of the page."""
        return re.sub(r"^page (\d) (\d+) (\d+)$", lambda match: self.code(*map(int, match.groups())), text, flags=re.M)


def check_block(pages, library, options, page, first, last, kind, around, changes):
    code = pages.code(page, first, last)
    for old, new in changes:
        if old not in code:
            return [f"{page}:{first}: {old!r} not found"]
        code = code.replace(old, new)
    kind, _, scope = kind.partition(" ")
    if kind == "apple":
        return []  # `ObservableObject` and `assign(to:)` are Combine's.
    if kind == "signature":
        return [f"{page}:{first}: {complaint}" for complaint in check_signature(library, code, scope)[1]]
    around = pages.surroundings(around)
    if kind == "body":
        # The pages declare several constants with the same name.
        code = f"{around}\nfunc block() async throws {{\n{re.sub('^import .*$', '', code, flags=re.M)}}}\n"
    elif kind == "members":
        code = around + code + "}\n"
    else:
        code = around + "\n" + code
    block = Block("file", "", "import EKNetwork\n" + ours(code), first)
    complaint = compile_block(f"page{page}", block, options)
    return [complaint] if complaint else []


# Members in tables whose cells have no space between them.
IN_TABLES = {"PrismNetworkScheme.http", "PrismNetworkScheme.wss", "PrismCachePolicy.cacheThenNetwork"}


def additions(library, text):
    """Returns, for each type that the pages name, the members that they do not."""
    named = lambda path: re.search(rf"\b{re.sub(r'[(].*', '', path.split('.')[-1])}\b", text)
    found = {}
    for path in sorted(library.documented_paths()):
        kind, _, member = re.sub(r"\(.*", "", path).partition(".")
        # Endpoint and WebSocket are also words of the pages; extensions and what is Apple's Network framework's are not types of ours.
        if kind in ("Endpoint", "WebSocket") or kind.startswith("NW") or kind not in library.symbols or not named(kind):
            continue
        members = found.setdefault(kind, [])
        if f"{kind}.{member}" in IN_TABLES:
            continue
        if member and not named(member) and member.split(".")[0] not in members and member not in members:
            members.append(member)
    return found


def check_additions(library, text):
    """Yields complaints about the article's table of the pages' types and their additional members.

    The table may have more members than those found here: a member such as `get` is also a word of the pages.
    """
    article = (ROOT / CATALOG / "Articles/DifferencesFromTheReference.md").read_text()
    listed = {}
    for types, members in re.findall(r"^\| (`.*) \| (.*) \|$", article, flags=re.M):
        for kind in re.findall(r"`([^`]+)`", types):
            listed[kind] = set(re.findall(r"`([^`]+)`", members))
    expected = additions(library, text)
    if listed.keys() != expected.keys():
        yield f"the types of the pages are not those of the article: {sorted(listed.keys() ^ expected.keys())}"
    bases = {re.sub(r"\(.*", "", path) for path in library.symbols}
    for kind, members in listed.items():
        missing = set(expected.get(kind, [])) - members
        unknown = {member for member in members if f"{kind}.{member}" not in bases}
        if missing or unknown:
            yield f"the additions to `{kind}`: {sorted(missing)} missing, {sorted(unknown)} unknown"


def main():
    pages, options = Pages(sys.argv[1]), library_options()
    library = Library.built(options)
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor() as pool:
        found = pool.map(lambda entry: check_block(pages, library, options, *entry), BLOCKS)
        complaints = [complaint for complaints in found for complaint in complaints]
    complaints += check_additions(library, "\n".join(line for lines in pages.lines.values() for line in lines))
    changed = sum(1 for entry in BLOCKS if entry[5])
    print("\n".join(complaints) or f"{len(BLOCKS)} blocks of the pages: no complaints, {changed} of them with a change")
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()
