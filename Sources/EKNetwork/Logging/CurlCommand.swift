import Foundation

/// A request as a curl command line for a POSIX shell.
struct CurlCommand {
  private static let redacted = "<redacted>"
  private static let longestArgument = 100_000

  let request: URLRequest
  let revealsSecrets: Bool

  private var method: String { request.httpMethod ?? "GET" }
  /// Whether curl is given content. It says that there is none only if it is given empty content.
  private var hasBody: Bool {
    request.httpBody != nil || request.httpBodyStream != nil || HTTPMethod.anticipatesContent(method)
  }

  var text: String {
    var words = ["curl"]
    if method == "HEAD" {
      words.append("--head")
    } else if method != (hasBody ? "POST" : "GET") {
      words += ["--request", Self.quoted(method)]
    }
    // curl sets the length itself, from the body that it gets.
    for (name, value) in (request.allHTTPHeaderFields ?? [:]).sorted(by: { $0.key < $1.key })
    where !hasBody || name.lowercased() != "content-length" {
      let shown = shown(value, of: name)
      // With a colon and no value, curl removes the field; with a semicolon it sends an empty one.
      words += ["--header", Self.quoted(shown.isEmpty ? "\(name);" : "\(name): \(shown)")]
    }
    // Otherwise curl adds a content type of its own.
    if hasBody, request.value(forHTTPHeaderField: "Content-Type") == nil { words += ["--header", "'Content-Type:'"] }
    let (prefix, body) = bodyWords
    words += body
    if let url = request.url {
      if let path = url.socketPath {
        words +=
          path.first == "@"
          ? ["--abstract-unix-socket", Self.quoted(String(path.dropFirst()))] : ["--unix-socket", Self.quoted(path)]
      }
      let text = revealsSecrets ? url.absoluteString : url.redactedForLog
      words.append(Self.quoted(url.socketPath == nil ? text : Self.overSocket(text)))
    }
    return prefix + words.joined(separator: " ")
  }

  /// Returns a URL that names a socket as curl takes it, which gets the socket by an option.
  private static func overSocket(_ url: String) -> String {
    let rest = url.dropFirst(Origin.socketScheme.count + "://".count)
    return "http://localhost" + (rest.firstIndex { "/?#".contains($0) }.map { rest[$0...] } ?? "")
  }

  /// The shell command before curl, and the arguments of curl, that the body needs.
  private var bodyWords: (prefix: String, words: [String]) {
    guard let data = request.httpBody else {
      guard let stream = request.httpBodyStream else { return ("", hasBody ? ["--data-binary", "''"] : []) }
      guard revealsSecrets, case .segments(let segments)? = (stream as? BodyInputStream)?.source, segments.count == 1,
        case .file(let file) = segments[0], file.isWhole
      else { return ("", ["--data-binary", "@-"]) }
      return ("", ["--data-binary", Self.quoted("@" + file.url.path)])
    }
    guard revealsSecrets else { return ("", ["--data-binary", Self.quoted("<redacted: \(data.count) bytes>")]) }
    // An argument cannot contain NUL, nor on Linux 128 KiB, and a leading @ would name a file.
    if data.count < Self.longestArgument, let text = data.withUnsafeBytes({ String(utf8Bytes: $0) }),
      !text.contains("\0"), !text.hasPrefix("@")
    {
      return ("", ["--data-binary", Self.quoted(text)])
    }
    return ("echo '\(data.base64EncodedString())' | base64 --decode | ", ["--data-binary", "@-"])
  }

  private func shown(_ value: String, of name: String) -> String {
    if revealsSecrets { return value }
    // A referer has a query like the request's URL.
    if name.lowercased() == "referer" { return URL(string: value)?.redactedForLog ?? Self.redacted }
    return SecretFields.contains(name) ? Self.redacted : value
  }

  /// Returns the text in single quotes, in which a POSIX shell takes everything literally except the quote.
  private static func quoted(_ text: String) -> String { "'" + text.replacing("'", with: "'\\''") + "'" }
}

extension URLRequest {
  /// Returns a command line that sends this request with curl, for a bug report or a terminal.
  ///
  /// - Parameter revealingSecrets: Whether to show the values of header fields that hold credentials, the values of
  ///   query items, and the body. Defaults to `false`. If `true`, a body from a file is given by its path; a stream is
  ///   left to curl's standard input.
  /// - Returns: A command for a POSIX shell, with every part quoted.
  public func curlCommand(revealingSecrets: Bool = false) -> String {
    CurlCommand(request: self, revealsSecrets: revealingSecrets).text
  }
}
