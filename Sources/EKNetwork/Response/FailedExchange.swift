import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The text that says which request an error is about, and how the server has responded.
struct FailedExchange {
  /// The number of bytes of a body that are shown.
  private static let excerptLength = 256

  var method: String?
  var url: URL?
  var status: Int?
  var contentType: String?
  var data: Data
  /// Whether the beginning of the body is shown. That of a success may contain what it was requested for, such as a token.
  var quotesBody = true

  /// `GET https://example.com/users/42`.
  var request: String { [method, url?.redactedForLog].compactMap(\.self).joined(separator: " ") }

  /// `GET https://example.com/users/42, status 404; application/json, 34 bytes: {…}`, as far as it is known.
  var text: String {
    var parts: [String] = []
    let exchange = [request.isEmpty ? nil : request, status.map { "status \($0)" }].compactMap(\.self)
    if !exchange.isEmpty { parts.append(exchange.joined(separator: ", ")) }
    let type = contentType.map { $0.mediaType.prefix(80) + ", " } ?? ""
    parts.append("\(type)\(data.count) bytes" + (quotesBody ? Self.excerpt(of: data).map { ": \($0)" } ?? "" : ""))
    return parts.joined(separator: "; ")
  }

  /// Returns the beginning of a text in one line; `nil` if there is none, or it is not text.
  private static func excerpt(of data: Data) -> String? {
    var text = String(decoding: data.prefix(excerptLength), as: UTF8.self)
    let isCut = data.count > excerptLength
    // The limit may be inside a character.
    if isCut, text.last == "\u{FFFD}" { text.removeLast() }
    guard !text.isEmpty, !text.unicodeScalars.contains(where: { $0 == "\u{FFFD}" || $0 == "\0" }) else { return nil }
    var line = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      switch scalar.properties.generalCategory {
      // A server must not be able to forge a line of a log, or to change the direction of the rest.
      case .control, .format, .lineSeparator, .paragraphSeparator: line.append(" ")
      default: line.append(scalar)
      }
    }
    return String(line) + (isCut ? "…" : "")
  }
}
