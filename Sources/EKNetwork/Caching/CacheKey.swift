import Foundation

/// The key under which a response to a request is stored.
struct CacheKey: Sendable {
  private let own: HTTPRequest
  var request: URLRequest { own.urlRequest }
  /// The method, the URL, and a hash of the user's identity, the header fields and the body: a request of another user,
  /// or for another type or language, has another key. Tokens cannot be recovered from it.
  let text: String
  /// Whether the response may be specific to one user.
  let namesUser: Bool

  /// Creates the key of a request as it is sent, including what its session adds.
  ///
  /// - Parameter decodesContent: Whether its response is stored decoded: ``TransportRequest/decodesContent``.
  init(_ hop: HopRequest, decodesContent: Bool = true) {
    own = hop.own
    namesUser = hop.namesUser
    let sent = hop.sent
    // The credentials of Digest differ each time: the identity has what counts.
    let fields = sent.fields.filter { hop.credential == nil || !$0.name.isFieldName("authorization") }
    // The empty line ends the fields: the text is unambiguous.
    let head = hop.identity.text + "\n" + FlightKey.lines(of: fields) + "\n"
    let hash = SHA256.hexadecimal(Array(head.utf8) + (sent.data ?? Data()))
    text =
      "\(sent.method) \(sent.url.withoutCredentials.absoluteString) \(hash)"
      + (decodesContent ? "" : " encoded")
  }

  /// Creates the key under which the response to a request that was sent is stored; `nil` if it must not be, because it
  /// may be to another user.
  init?(responseTo sent: HopRequest, decodesContent: Bool = true) {
    guard sent.isOfCurrentUser else { return nil }
    self.init(sent, decodesContent: decodesContent)
  }
}
