/// A rule that the peer broke, and the code with which the connection is closed for it.
struct ProtocolFailure: Error, Sendable, Equatable {
  var code: WebSocketCloseCode
  var reason: String

  init(_ code: WebSocketCloseCode, _ reason: String) {
    self.code = code
    self.reason = reason
  }
}
