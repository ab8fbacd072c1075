import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A cookie with everything that RFC 6265bis §5.7 requires a client to remember of it.
struct StoredCookie: Equatable, Sendable {
  var name: String
  var value: String
  /// In lower case; with a leading dot if it includes subdomains.
  var domain: String
  var path: String
  var expires: Date?
  /// When the cookie was first set, in seconds since 2001; setting it again does not change that (§5.7, step 23.3).
  var created: Double
  var isSecure: Bool
  var isHTTPOnly: Bool
  var sameSite: SetCookieLine.SameSite?
  /// Whether name and value are UTF-8. Otherwise each of their characters is one byte (ISO 8859-1): a cookie is
  /// returned with the bytes with which it was set (§5.6).
  var isUTF8 = true

  /// The key of the cookie. Foundation's storage on Linux identifies cookies by domain, path and name without
  /// separators.
  var key: String { domain + path + name }

  /// The domain without the dot.
  var domainName: String { domain.hasPrefix(".") ? String(domain.dropFirst()) : domain }

  var includesSubdomains: Bool { domain.hasPrefix(".") }

  /// The cookie as it is sent (§5.8.3).
  var pair: String { isUTF8 ? "\(name)=\(value)" : ObsoleteText.carried("\(name)=\(value)".unicodeScalars) }

  func hasExpired(by now: Date) -> Bool { expires.map { $0 <= now } ?? false }
}

// MARK: - Foundation's cookies

/// `HTTPCookie` cannot store all properties on every platform. Those are written to the cookie's comment, which no
/// server can set: when it was created, `SameSite`, whether it is UTF-8, and `Secure`, which FoundationNetworking's
/// storage writes to its file in a form that it does not read.
extension StoredCookie {
  static let comment = HTTPCookiePropertyKey(rawValue: "Comment")

  init(_ cookie: HTTPCookie) {
    let properties = cookie.properties
    let words = (properties?[Self.comment] as? String ?? "").split(separator: " ")
    let isOwn = words.count > 1 && words[0] == "created"
    let notes = isOwn ? words.dropFirst(2) : []
    name = cookie.name
    value = cookie.value
    domain = cookie.domain.lowercased()
    path = cookie.path
    expires = cookie.expiresDate
    // What other code has stored has no comment of this form.
    created =
      (isOwn ? Double(words[1]) : nil) ?? properties?[HTTPCookiePropertyKey(rawValue: "Created")] as? Double ?? 0
    isSecure = cookie.isSecure || notes.contains("secure")
    isHTTPOnly = cookie.isHTTPOnly
    sameSite = notes.lazy.compactMap { SetCookieLine.SameSite(rawValue: String($0)) }.first
    isUTF8 = !notes.contains("latin1")
  }

  /// The cookie for Foundation's storage.
  var foundationCookie: HTTPCookie? {
    var notes = ["created", "\(created)"]
    if let sameSite { notes.append(sameSite.rawValue) }
    if isSecure { notes.append("secure") }
    if !isUTF8 { notes.append("latin1") }
    var properties: [HTTPCookiePropertyKey: Any] = [
      .name: name, .value: value, .path: path, .domain: domain, Self.comment: notes.joined(separator: " "),
    ]
    if isSecure { properties[.secure] = "TRUE" }
    if isHTTPOnly { properties[.init(rawValue: "HttpOnly")] = "TRUE" }
    properties[.expires] = expires
    return HTTPCookie(properties: properties)
  }
}
