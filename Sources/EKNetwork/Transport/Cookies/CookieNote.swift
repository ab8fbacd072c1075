import Foundation

/// What RFC 6265bis has a client know of a cookie and `HTTPCookie` has no room for on every platform. It is kept in the
/// cookie's comment, which no server has a way to set.
struct CookieNote: Equatable {
  /// When the cookie was first set, in seconds since 2001: setting it again does not make it younger (§5.7, step 23.3).
  var created: Double
  var sameSite: SetCookieLine.SameSite?

  init(created: Double, sameSite: SetCookieLine.SameSite?) {
    self.created = created
    self.sameSite = sameSite
  }

  /// Where the note is.
  static let key = HTTPCookiePropertyKey(rawValue: "Comment")

  init(of cookie: HTTPCookie) {
    let words = (cookie.properties?[Self.key] as? String ?? "").split(separator: " ")
    if words.count > 1, words[0] == "created", let created = Double(words[1]) {
      self.created = created
      sameSite = words.count > 2 ? SetCookieLine.SameSite(rawValue: String(words[2])) : nil
    } else {
      // One that was put into the storage by other code.
      created = cookie.properties?[HTTPCookiePropertyKey(rawValue: "Created")] as? Double ?? 0
      sameSite = nil
    }
  }

  var text: String { "created \(created)" + (sameSite.map { " \($0.rawValue)" } ?? "") }
}
