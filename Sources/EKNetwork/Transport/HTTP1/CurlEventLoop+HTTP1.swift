#if os(Linux)
  import CCurl
  import Foundation
  import FoundationNetworking

  /// Requests over connections on which the library itself speaks HTTP/1.1.
  extension CurlEventLoop {
    static func resourceError(url: URL) -> any Error {
      CurlError.make(.unknown, "The process is out of resources", url: url)
    }

    /// Sends a request over an idle connection, or opens one for it.
    func beginHTTP1(_ transfer: CurlTransfer, in pool: CurlPool) {
      if !transfer.loopResends.hasResent {
        while let connection = pool.idleConnections.take(transfer.request.origin) {
          if connection.isQuiet { return connection.begin(transfer) }
          connection.close()
        }
      }
      let connection = connections.add(to: pool, transfer.request.origin, for: self)
      if let error = connection.open(for: transfer) { finish(transfer, with: error) }
    }

    /// Handles the end of a connection before its response was complete.
    ///
    /// - Parameter hasResponse: Whether part of a final response was received.
    func failed(
      _ transfer: CurlTransfer, _ failure: CurlError.Failure, hasReusedConnection: Bool, hasResponse: Bool
    ) {
      let ending = ResendState.Ending(
        code: failure.code, hasReusedConnection: hasReusedConnection,
        isFinal: transfer.loopFailure != nil || hasResponse)
      if resends(transfer, after: ending) { return }
      transfer.loopMeasure()
      finish(transfer, with: transfer.loopFailure ?? CurlError.urlError(failure, url: transfer.request.url))
    }

    /// Sends a request again over another connection, if that is allowed, and returns whether it is.
    func resends(_ transfer: CurlTransfer, after ending: ResendState.Ending) -> Bool {
      guard transfer.loopMayResend(ending) else { return false }
      transfer.loopConnection?.abandon()
      deadlines.remove(transfer)
      resend(transfer)
      return true
    }

    /// Watches a socket for a connection.
    func watch(_ socket: Int32, _ what: Int32, connection: UInt32) {
      let tag = HTTP1Connections.firstTag | UInt64(connection) << 32
      watch(socket, what, tag: tag | UInt64(UInt32(bitPattern: socket)))
    }

    /// Calls the connections whose timers are due, and returns whether there were any.
    func fireConnectionTimers() -> Bool {
      opening?.fireTimer(now: now)
      // Each once: libcurl may set a timer that is due at once, which the next turn calls.
      var due: [HTTP1Connection] = []
      while let connection = connections.nextTimer(now: now) { due.append(connection) }
      for connection in due { connection.timerFired() }
      return !due.isEmpty
    }

    /// Keeps a connection for the next request.
    func park(_ connection: HTTP1Connection) {
      connection.pool.idleConnections.park(connection, until: now.addingClamped(pools.lifetime))?.close()
    }
  }

  extension CurlError.Failure {
    static let emptyReply = CurlError.Failure(
      code: CurlError.emptyReply, text: "Empty reply from server", systemError: 0, verifyResult: 0)
    static let partialBody = CurlError.Failure(
      code: CurlError.partialBody, text: "The server closed the connection before the body was complete",
      systemError: 0, verifyResult: 0)

    static func sending(_ error: Int32) -> CurlError.Failure {
      CurlError.Failure(
        code: 55, text: "Send failure: \(String(cString: strerror(error)))", systemError: Int(error), verifyResult: 0)
    }

    static func receiving(_ error: Int32) -> CurlError.Failure {
      CurlError.Failure(
        code: 56, text: "Recv failure: \(String(cString: strerror(error)))", systemError: Int(error), verifyResult: 0)
    }
  }
#endif
