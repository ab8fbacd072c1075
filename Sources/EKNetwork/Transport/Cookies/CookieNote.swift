import Foundation

/// The properties of a cookie that RFC 6265bis requires a client to know, but that `HTTPCookie` cannot store on every
/// platform. They are stored in the cookie's comment, which no server can set.
struct CookieNote: Equatable {
  /// When the cookie was first set, in seconds since 2001; setting it again does not change that (§5.7, step 23.3).
  var created: Double
  var sameSite: SetCookieLine.SameSite?

  init(created: Double, sameSite: SetCookieLine.SameSite?) {
    self.created = created
    self.sameSite = sameSite
  }

  /// The property that contains the note.
  static let key = HTTPCookiePropertyKey(rawValue: "Comment")

  init(of cookie: HTTPCookie) {
    let words = (cookie.properties?[Self.key] as? String ?? "").split(separator: " ")
    if words.count > 1, words[0] == "created", let created = Double(words[1]) {
      self.created = created
      sameSite = words.count > 2 ? SetCookieLine.SameSite(rawValue: String(words[2])) : nil
    } else {
      // The cookie was stored by other code.
      created = cookie.properties?[HTTPCookiePropertyKey(rawValue: "Created")] as? Double ?? 0
      sameSite = nil
    }
  }

  var text: String { "created \(created)" + (sameSite.map { " \($0.rawValue)" } ?? "") }
}
