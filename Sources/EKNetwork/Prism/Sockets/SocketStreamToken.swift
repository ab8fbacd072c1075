/// Ends the connection when its stream is dropped.
final class SocketStreamToken: Sendable {
  let session: SocketSession

  init(_ session: SocketSession) { self.session = session }

  deinit { session.cancel() }
}
