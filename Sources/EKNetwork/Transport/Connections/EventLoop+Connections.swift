#if os(Linux)
  import Foundation
  import FoundationNetworking

  /// Requests and their connections.
  extension EventLoop {
    /// Sends a request over a connection that it may share, or that is idle, or opens one for it.
    ///
    /// - Parameter waits: Whether it may wait for a connection that is being opened for another request.
    func connect(_ transfer: Transfer, in pool: ConnectionPool, waits: Bool = true) {
      let origin = transfer.request.origin
      let version = pool.mayOfferHTTP2(origin) ? transfer.request.version : .http1
      let resends = transfer.loopResends
      while version != .http1, let connection = pool.shared.available(origin, since: resends.connectionSince) {
        // One that may be sent again need not know whether the server has just left. One that only connects is to find out.
        let mustKnow = !transfer.request.isIdempotent || resends.hasResent || transfer.request.onlyConnects
        if connection.isIdle, mustKnow {
          connection.read()
          guard connection.hasRoom else { continue }
        }
        return connection.begin(transfer)
      }
      // Its server may be closing it, and the clean-up is yet to come.
      while let connection = pool.idle.nextExpired(now: now) { connection.close() }
      while resends.connectionSince == 0, let connection = pool.idle.take(origin) {
        if connection.isQuiet { return connection.begin(transfer) }
        connection.close()
      }
      // What is still being opened cannot have been lost with the others.
      if version != .http1, waits, resends.connectionSince < .max, let opening = pool.shared.opening(origin),
        opening.outlasts(transfer)
      {
        return opening.join(transfer)
      }
      let opening = OpeningConnection(pool, origin, version: version, for: self)
      connections.add(opening)
      pool.shared.opens(opening, for: transfer)
      if let error = opening.open(for: transfer) { finish(transfer, with: error) }
    }

    /// Sends the requests that have waited for a connection to be opened.
    func opened(
      _ opening: OpeningConnection, _ bytes: ConnectionBytes, _ times: ConnectionOpener.Times,
      for transfers: [Transfer]
    ) {
      var received: [UInt8] = []
      var refusal: CurlError.Failure?
      if opening.version != .http1 {
        // Without TLS nothing is negotiated (RFC 9113 §3.3).
        let isNegotiated = opening.origin.scheme == "https"
        // libcurl only tells what was negotiated once the connection was used.
        switch isNegotiated ? bytes.receive(into: receiveBuffer) : .mustWait {
        case .moved(let count): received = Array(receiveBuffer[..<count])
        // It is not reported again.
        case .failed(let failure) where failure.certificateRefusal != nil: refusal = failure
        case .mustWait, .closed, .failed: break
        }
        if refusal == nil, !isNegotiated || bytes.hasNegotiatedHTTP2 {
          let connection = HTTP2Connection(bytes, times, inPlaceOf: opening)
          connections.replace(with: connection)
          opening.pool.shared.add(connection)
          // The first begins in any case: a server may end every connection at once. What it has sent may allow fewer
          // streams (RFC 9113 §5.1.2), and nghttp2 would keep the requests beyond that.
          if let first = transfers.first { connection.begin(first) }
          connection.received(received)
          for transfer in transfers.dropFirst() {
            if connection.hasRoom { connection.begin(transfer) } else { connect(transfer, in: opening.pool) }
          }
          return
        }
        if refusal == nil { opening.pool.shared.noteHTTP1(opening.origin) }
      }
      let connection = HTTP1Connection(bytes, times, inPlaceOf: opening)
      connections.replace(with: connection)
      if let refusal {
        connection.close()
        return transfers.forEach { failed($0, refusal, .init(code: refusal.code)) }
      }
      guard opening.version != .http2 else {
        connection.close()
        return transfers.forEach { fail($0, .badServerResponse, "The server does not speak HTTP/2") }
      }
      guard let first = transfers.first else { return connection.close() }
      connection.begin(first, received: received)
      for transfer in transfers.dropFirst() { connect(transfer, in: opening.pool, waits: false) }
    }

    /// Handles the end of a connection, or of a stream, before its response was complete.
    func failed(_ transfer: Transfer, _ failure: CurlError.Failure, _ ending: ResendState.Ending) {
      var ending = ending
      if transfer.loopFailure != nil || failure.certificateRefusal != nil { ending.isFinal = true }
      if resends(transfer, after: ending) { return }
      transfer.loopNoteEnd()
      finish(transfer, with: transfer.loopFailure ?? CurlError.urlError(failure, url: transfer.request.url))
    }

    /// Sends a request again over another connection, if that is allowed, and returns whether it is.
    func resends(_ transfer: Transfer, after ending: ResendState.Ending) -> Bool {
      guard transfer.loopMayResend(ending, at: now) else { return false }
      requeue(transfer)
      return true
    }

    /// Takes a transfer off its connection, and lets it wait for another one.
    func requeue(_ transfer: Transfer) {
      transfer.loopConnection?.abandon(transfer)
      transfer.loopRestart()
      deadlines.remove(transfer)
      resend(transfer)
    }

    /// Notes that the connections to an origin may have room again, if requests wait for it.
    func roomChanged(_ pool: ConnectionPool, _ origin: Origin) {
      if pool.shared.endsCrowding(of: origin) { queue.roomChanged(at: .init(pool: pool.index, origin: origin)) }
    }

    /// Sends what the connections have gathered in the turn.
    func flush() {
      while let connection = unsent.popLast() { connection.flush() }
    }

    /// Calls the connections whose timers are due, and returns whether there were any.
    func fireConnectionTimers() -> Bool {
      opening?.fireTimer(now: now)
      // Each once: libcurl may set a timer that is due at once, which the next turn calls.
      var due: [LoopConnection] = []
      while let connection = connections.nextTimer(now: now) { due.append(connection) }
      for connection in due { connection.timerFired() }
      return !due.isEmpty
    }

    /// Keeps a connection for the next request.
    func park(_ connection: HTTP1Connection) {
      let end = min(now.addingClamped(pools.lifetime), connection.idleEnd)
      connection.pool.idle.park(connection, until: end)?.close()
    }
  }

  extension CurlError.Failure {
    static let noResources = CurlError.Failure(code: CurlError.noResources, text: "The process is out of resources")
    static let emptyReply = CurlError.Failure(code: CurlError.emptyReply, text: "Empty reply from server")
    static let partialBody = CurlError.Failure(
      code: CurlError.partialBody, text: "The server closed the connection before the body was complete")

    static func sending(_ error: Int32) -> CurlError.Failure {
      CurlError.Failure(code: 55, text: "Send failure: \(String(cString: strerror(error)))", systemError: Int(error))
    }

    static func receiving(_ error: Int32) -> CurlError.Failure {
      CurlError.Failure(code: 56, text: "Recv failure: \(String(cString: strerror(error)))", systemError: Int(error))
    }
  }
#endif
