import Foundation

extension LoopbackServer {
  /// The action after the head of a request has been received, before its body.
  public enum HeadDecision: Sendable {
    /// Responds to `Expect: 100-continue`, reads the body and calls the handler.
    case readBody
    /// Performs these steps, then reads the rest of the body and calls the handler.
    case steps([BodyStep])
    /// Responds at once; the handler is not called. With `.keepAlive` the rest of the body is read and discarded
    /// afterwards, otherwise the connection is closed as the response specifies.
    case respond(Response)
    /// Responds with 200 and chunks at once: one for each piece of the body, as soon as it has arrived, which the closure
    /// makes from it; `nil` for none. The response has the trailers of the request. The handler is not called.
    case converse(status: Int = 200, HeaderFields = [:], @Sendable (Data) -> Data?)
  }
}
