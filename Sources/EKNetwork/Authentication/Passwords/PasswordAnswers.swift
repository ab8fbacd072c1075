import Foundation

/// How the servers that a session has met ask for passwords (RFC 9110 §11.6): whether an answer is sent before they ask, and
/// which one after they have.
///
/// A value: its owner has a lock. A password is never sent in the clear to a server that has asked for Digest, whatever an
/// answer in its name asks for later.
struct PasswordAnswers {
  /// Whose password, and for whom. Others never get an answer with it.
  struct Key: Hashable {
    let credential: PasswordCredential
    let origin: Origin
    /// Whom the connection trusts: ``ConnectionIdentity/trust``.
    let trust: String?
  }

  /// An answer, and the nonce that it uses; `nil` for that of Basic.
  struct Answer: Equatable {
    let field: String
    let nonce: String?

    static func basic(_ credential: PasswordCredential) -> Answer {
      Answer(field: credential.basicAuthorization, nonce: nil)
    }
  }

  /// What of a request an answer depends on, and what it was sent with.
  struct Request {
    let method: String
    /// The target as it is sent.
    let target: String
    /// What the request was sent with; `nil` if nothing.
    var sent: Answer?
    /// How many challenges to it have been answered.
    var count = 0
  }

  private struct Use {
    let challenge: DigestChallenge
    var count: UInt32
  }

  /// How many servers and users are remembered.
  private static let capacity = 256
  /// How often one request may be answered: a nonce may be too old once.
  private static let maximumCount = 2

  private var uses: [Key: Use] = [:]
  /// The keys, the oldest first.
  private var order: [Key] = []

  /// Returns the answer to send before the server asks; `nil` if it has not asked for Digest before.
  mutating func answer(for key: Key, _ request: Request, clientNonce: () -> String) -> Answer? {
    guard let use = uses[key] else { return nil }
    return answer(with: use, for: key, request, clientNonce)
  }

  /// Returns the answer to the challenges of a 401; `nil` if the password was not accepted, or must not be sent.
  mutating func answer(
    to challenges: [AuthenticationChallenge], for key: Key, _ request: Request, clientNonce: () -> String
  ) -> Answer? {
    guard request.count < Self.maximumCount else { return nil }
    guard let digest = DigestChallenge.best(of: challenges) else {
      let offersBasic = challenges.contains { $0.scheme == "basic" && $0.parameters["realm"] != nil }
      guard offersBasic, uses[key] == nil, request.sent == nil else { return nil }
      return .basic(key.credential)
    }
    // §3.3: another nonce for an answer that was not too old means another password is needed, unless it was made in advance.
    guard digest.isStale || digest.nonce != request.sent?.nonce && request.count == 0 else { return nil }
    // Several requests may be asked at once with the same nonce, of which each use has a number of its own.
    let count = uses[key].map { $0.challenge.nonce == digest.nonce ? $0.count : 0 } ?? 0
    return answer(with: Use(challenge: digest, count: count), for: key, request, clientNonce)
  }

  private mutating func answer(
    with use: Use, for key: Key, _ request: Request, _ clientNonce: () -> String
  ) -> Answer? {
    var use = use
    // No number is used twice with a nonce.
    guard use.count < .max else { return nil }
    use.count += 1
    if uses.updateValue(use, forKey: key) == nil {
      order.append(key)
      if order.count > Self.capacity { uses[order.removeFirst()] = nil }
    }
    return Answer(
      field: use.challenge.answer(
        as: key.credential, method: request.method, target: request.target, count: use.count,
        clientNonce: clientNonce()),
      nonce: use.challenge.nonce)
  }
}
