import Foundation

/// The placeholder in a log entry for a value that may be secret.
private let redacted = "<redacted>"
/// The maximum length of a URL in a log entry; longer ones are truncated, because a redirect can have a URL of any
/// length.
private let greatestLength = 1024

/// A value with secrets, such as a request or a response: whatever prints it, or looks into it, shows ``redacted``.
protocol Redacted: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// A text without the values of header fields and of query items, and without credentials.
  var redacted: String { get }
}

extension Redacted {
  /// A text without secrets.
  public var description: String { redacted }
  /// The same as `description`.
  public var debugDescription: String { description }
  /// A mirror without children.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension URL {
  /// The scheme, host, port, path and names of the query items.
  ///
  /// The user, the password, the fragment, and the values of query items and of path parameters (RFC 3986 §3.3, such as
  /// `;jsessionid=…`) are left out, and so is a query item without a `=`, which may be only a value. Everything stays
  /// percent-encoded, so that no URL can inject a line into a log.
  var redactedForLog: String {
    guard let text = text(hiding: { _ in redacted }) else { return redacted }
    return text.utf8.count > greatestLength ? text.prefix(greatestLength) + "…" : text
  }

  /// Returns the same text, of any length, in which `hiding` replaces each value. `nil` if the URL cannot be parsed.
  func text(hiding: (Substring) -> String) -> String? {
    guard let parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else { return nil }
    var text = ""
    if let scheme = parts.scheme { text += scheme + ":" }
    if let host = parts.percentEncodedHost {
      text += "//" + host
      if let port = parts.port { text += ":\(port)" }
    } else if parts.scheme != nil {
      // The "path" of `data:` or `mailto:` is its value, and that of `https:/user:password@host` is a mistake.
      return text + hiding(parts.percentEncodedPath[...])
    }
    text += parts.percentEncodedPath.split(separator: "/", omittingEmptySubsequences: false)
      .map { Self.hidingParameters(of: $0, hiding) }.joined(separator: "/")
    if let query = parts.percentEncodedQuery {
      text += "?" + query.split(separator: "&").map { Self.hidingValue(of: $0, hiding) }.joined(separator: "&")
    }
    return text
  }

  private static func hidingParameters(of segment: Substring, _ hiding: (Substring) -> String) -> String {
    guard let parameters = segment.firstIndex(of: ";") else { return String(segment) }
    let kept = segment[parameters...].dropFirst().split(separator: ";").map { ";" + hidingValue(of: $0, hiding) }
    return segment[..<parameters] + kept.joined()
  }

  private static func hidingValue(of item: Substring, _ hiding: (Substring) -> String) -> String {
    guard let end = item.firstIndex(of: "=") else { return hiding(item) }
    return item[...end] + hiding(item[item.index(after: end)...])
  }
}
