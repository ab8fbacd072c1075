import Foundation

/// A user and a password, with which a request responds to a server that asks for them: see ``NetworkRequest/credential``.
public struct PasswordCredential: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  // In a class: every exchange has room for one, and few have one.
  private final class Storage: Sendable, Hashable {
    let user: String
    let password: String

    init(user: String, password: String) {
      self.user = user
      self.password = password
    }

    static func == (one: Storage, other: Storage) -> Bool {
      one.user == other.user && one.password == other.password
    }

    func hash(into hasher: inout Hasher) {
      hasher.combine(user)
      hasher.combine(password)
    }
  }

  private let storage: Storage

  /// The user.
  public var user: String { storage.user }
  /// The password.
  public var password: String { storage.password }

  /// Creates a credential.
  public init(user: String, password: String) { storage = Storage(user: user, password: password) }

  /// A text with the user, and without the password.
  public var description: String { "PasswordCredential(user: \(user))" }
  /// The same as ``description``.
  public var debugDescription: String { description }
  /// A mirror without the password.
  public var customMirror: Mirror { Mirror(self, children: ["user": user]) }
}

extension PasswordCredential {
  /// The value of an `Authorization` field for the Basic scheme (RFC 7617 §2).
  var basicAuthorization: String { "Basic " + Data("\(user):\(password)".utf8).base64EncodedString() }
}

extension URL {
  /// The credential in the URL; `nil` if there is none.
  var credential: PasswordCredential? {
    guard let user = user(percentEncoded: false) else { return nil }
    let password = password(percentEncoded: false) ?? ""
    return user.isEmpty && password.isEmpty ? nil : PasswordCredential(user: user, password: password)
  }
}
