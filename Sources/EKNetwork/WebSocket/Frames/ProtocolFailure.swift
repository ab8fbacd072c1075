/// A protocol violation of the peer, and the code with which the connection is closed.
struct ProtocolFailure: Error, Sendable, Equatable {
  var code: WebSocketCloseCode
  var reason: String

  init(_ code: WebSocketCloseCode, _ reason: String) {
    self.code = code
    self.reason = reason
  }
}
