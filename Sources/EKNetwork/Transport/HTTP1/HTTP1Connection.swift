#if os(Linux)
  import CCurl
  import Foundation

  /// A connection on which the library itself speaks HTTP/1.1 (RFC 9112): the shell of ``RequestHead``, ``ExchangeState``
  /// and ``ResponseParser``.
  final class HTTP1Connection: HTTPConnection, LoopExchange {
    /// How often to read and to write in a row, so that a fast server does not keep the others waiting. With TLS one read
    /// returns at most a record (RFC 8446 §5.1).
    private static let (maximumReads, maximumSecureReads, maximumWrites) = (4, 64, 16)
    /// How much must have been received at once for the next piece to be received without copying it.
    private static let largePiece = 16 * 1024

    private var receivesLargePieces = false
    /// Why the rest of the request was not sent.
    private var sendFailure: CurlError.Failure?

    /// Until when its server keeps it open without another request.
    private(set) var idleEnd = UInt64.max
    private(set) var transfer: Transfer?
    /// The number of requests that were sent over it, including the current one.
    private var exchangeCount = 0
    private var state = ExchangeState(hasBody: false, expects: false)
    /// Until when the server is waited for to ask for the body.
    private var expectationEnd = UInt64.max
    private var parser: ResponseParser?
    private var output = OutputBuffer()
    private var firstByte: UInt64?
    private var version: String?

    private var isSecure: Bool { origin.scheme == "https" }

    // MARK: - Exchanges

    /// Whether an idle connection can be used: nothing has arrived on it.
    var isQuiet: Bool { bytes?.isQuiet == true }

    /// Sends a request over it.
    ///
    /// - Parameter received: What the server has sent before it.
    func begin(_ transfer: Transfer, received: [UInt8] = []) {
      guard !transfer.request.onlyConnects else {
        exchangeCount = max(1, exchangeCount)
        if received.isEmpty { park() } else { close() }
        return eventLoop.finish(transfer, with: Transfer.IsConnected())
      }
      self.transfer = transfer
      transfer.loopConnection = self
      exchangeCount += 1
      eventLoop.sent(transfer, over: self)
      firstByte = nil
      parser = ResponseParser(url: transfer.request.url, method: transfer.request.method)
      state = ExchangeState(transfer.request)
      transfer.loopLastActivity = eventLoop.now
      output.append(transfer.request.head)
      if state.output == .expecting {
        expectationEnd = eventLoop.now.addingClamped(ExchangeState.expectationTimeout.clampedNanoseconds)
      }
      if transfer.request.upload?.length != nil { _ = fill(transfer) }
      write()
      guard !received.isEmpty, self.transfer != nil else { return }
      firstByte = MonotonicClock.now()
      received.withUnsafeBytes { parse($0) }
    }

    var carrier: LoopConnection { self }

    override var responseSocket: Int32? {
      output.isEmpty && state.output == .complete && firstByte == nil ? bytes?.socket : nil
    }

    override var bodySocket: Int32? {
      guard receivesLargePieces, state.output == .complete, output.isEmpty, bytes?.mayHoldBytes == false else {
        return nil
      }
      return bytes?.socket
    }

    override func ready(_ descriptor: Int32, events: Int32) {
      guard let bytes, descriptor == bytes.socket else { return }
      guard transfer != nil else {
        if !isQuiet { close() }
        return
      }
      // If the connection is broken, sending would fail, and TLS may have received why.
      let mustRead =
        events & Int32(EKN_CSELECT_ERR) != 0 && bytes.mayHoldBytes && transfer?.loopPauses.contains(.receiving) == false
      if events & Int32(EKN_CSELECT_OUT) != 0, !mustRead { write() }
      if events & ~Int32(EKN_CSELECT_OUT) != 0, transfer != nil { read() }
      if outputNeedsInput, transfer != nil { write() }
    }

    override func timerFired() {
      if hasUnreadBytes { read() }
      guard transfer != nil else { return }
      let mustSendBody = expectationEnd <= eventLoop.now && state.expectationTimedOut()
      if mustSendBody || outputNeedsInput { write() }
    }

    func resumed() {
      // TLS may have read what its consumer has not: no event would follow.
      if bytes?.mayHoldBytes == true, transfer != nil { read() }
      guard let transfer else { return }
      if !transfer.loopPauses.contains(.sending) { write() } else { watch() }
    }

    func paused() { watch() }

    func delivered() {}

    /// RFC 9112 §9.6: the connection cannot be used again.
    func abandon(_ transfer: Transfer) { close() }

    override var unsentCount: Int { output.pending.count }

    func timings(of transfer: Transfer) -> NetworkTimings {
      timings(since: transfer.loopBegun, isReused: exchangeCount > 1, firstByte: firstByte, version: version)
    }

    // MARK: - Sending

    private func write() {
      for _ in 0..<Self.maximumWrites {
        guard let bytes, let transfer else { return }
        if output.isEmpty, !fill(transfer) { break }
        outputNeedsInput = false
        switch output.pending.withUnsafeBytes({ bytes.send($0) }) {
        case .moved(let count):
          transfer.loopLastActivity = eventLoop.now
          output.sent(count)
          continue
        case .mustWait, .closed: outputNeedsInput = bytes.outputNeedsInput
        case .failed(let failure):
          state.failedToSend()
          output.removeAll()
          sendFailure = failure
          noteStop(of: transfer)
          // RFC 9112 §9.5: the response may have been sent before the connection was closed.
          return read()
        }
        break
      }
      // The poller reports when the next piece can be sent.
      if output.isEmpty, let transfer { _ = fill(transfer) }
      watch()
    }

    /// Reads the next piece of the body. Returns whether there is anything to send.
    private func fill(_ transfer: Transfer) -> Bool {
      guard state.output == .body, let upload = transfer.request.upload, !transfer.loopPauses.contains(.sending) else {
        return false
      }
      let length = upload.length
      if let length, transfer.loopBodyCount >= length {
        state.wroteBody()
        return false
      }
      let rest = length.map { $0 - transfer.loopBodyCount } ?? .max
      let result = output.fill(upTo: rest, isChunked: length == nil) { upload.read(into: $0) }
      transfer.loopLastActivity = eventLoop.now
      switch result {
      case .bytes(let count):
        transfer.loopReadBody(count)
        if transfer.loopBodyCount == length { state.wroteBody() }
        return true
      case .end:
        guard length == nil else {
          eventLoop.fail(transfer, .requestBodyStreamExhausted, "The body is shorter than its length")
          return false
        }
        output.appendLastChunk(trailers: upload.trailers)
        state.wroteBody()
        return true
      case .pending:
        transfer.loopPauses.insert(.sending)
        return false
      case .failed(let error):
        eventLoop.finish(transfer, with: error)
        return false
      }
    }

    /// If nothing more is sent, the server's silence is no longer that of a body that is not ready.
    private func noteStop(of transfer: Transfer) {
      guard state.output == .stopped, transfer.loopPauses.remove(.sending) != nil else { return }
      transfer.loopLastActivity = eventLoop.now
      eventLoop.renewDeadline(of: transfer)
    }

    // MARK: - Receiving

    private func read() {
      hasUnreadBytes = bytes?.mayHoldBytes == true
      for _ in 0..<(hasUnreadBytes ? Self.maximumSecureReads : Self.maximumReads) {
        guard let bytes, let transfer, !transfer.loopPauses.contains(.receiving) else { return }
        let (progress, isFull) = receive(transfer, from: bytes)
        switch progress {
        case .moved(let count):
          guard self.transfer != nil else { return }
          if isFull || bytes.mayHaveMore(after: count) { continue }
          hasUnreadBytes = false
        case .mustWait: hasUnreadBytes = false
        case .closed: return lost(transfer, isClosed: true, sendFailure)
        case .failed(let error): return lost(transfer, isClosed: false, error.following(sendFailure))
        }
        break
      }
      if transfer != nil { watch() }
    }

    /// Receives the next bytes and handles them. Returns whether there was no space for more.
    private func receive(
      _ transfer: Transfer, from bytes: ConnectionBytes
    ) -> (progress: ConnectionBytes.Progress, isFull: Bool) {
      // Where only the body can follow, and much of it arrives at once, it is not copied.
      let rest = receivesLargePieces || transfer.loopHasBody ? parser?.nextBodyBytes ?? 0 : 0
      let isDirect = rest >= Self.largePiece
      let buffer = eventLoop.receiveBuffer
      let (progress, space) =
        isDirect ? transfer.loopReceiveBody(upTo: rest, from: bytes) : (bytes.receive(into: buffer), buffer.count)
      guard case .moved(let count) = progress else { return (progress, false) }
      transfer.loopLastActivity = eventLoop.now
      receivesLargePieces = count >= Self.largePiece
      if isDirect {
        parser?.receivedBody(count)
        eventLoop.markDirty(transfer)
        if transfer.loopHasFullBlock { eventLoop.deliver(transfer) }
        // The whole body is there.
        if count == rest { parse(UnsafeRawBufferPointer(start: nil, count: 0)) }
      } else {
        if firstByte == nil { firstByte = responds(since: transfer.loopBegun) }
        parse(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      }
      return (progress, count == space)
    }

    private func parse(_ bytes: UnsafeRawBufferPointer) {
      var offset = 0
      var mayWrite = false
      while let transfer, let event = parser?.next(bytes, &offset) {
        switch event {
        case .interim(let head):
          transfer.request.onInterim?.received(head)
          if state.interim(status: head.statusCode) { mayWrite = true }
        case .head(let head):
          if isClosingNotice(head), eventLoop.resends(transfer, after: .staleConnection) { return }
          if transfer.request.wantsTimings { version = head.version }
          // RFC 9112 §9.8: anybody on the way could end such a body early.
          if isSecure, parser?.endsWithConnection == true { self.bytes?.requireAnnouncedEnd() }
          transfer.loopReceivedHead(head)
          state.responded(
            status: head.statusCode, closes: parser?.mayPersist == false || parser?.endsWithConnection == true)
          noteStop(of: transfer)
          eventLoop.markDirty(transfer)
        case .body(let bytes):
          eventLoop.markDirty(transfer)
          if transfer.loopReceivedBody(bytes) { eventLoop.deliver(transfer) }
        case .end: return ended(transfer, hasSurplus: offset < bytes.count)
        case .failure(let code, let text):
          return eventLoop.fail(transfer, code, text)
        }
      }
      // Not before: it may read, into the same memory.
      if mayWrite { write() }
    }

    /// Whether a head may be that of a response to no request, with which the server has closed the idle connection while
    /// the request was on its way (RFC 9110 §15.5.9).
    private func isClosingNotice(_ head: RawHead) -> Bool {
      head.statusCode == 408 && exchangeCount > 1 && parser?.mayPersist == false
    }

    private func ended(_ transfer: Transfer, hasSurplus: Bool) {
      state.ended()
      transfer.loopNoteEnd(trailers: parser?.trailers)
      let isReusable =
        state.isComplete && output.isEmpty && !hasSurplus && parser?.isPersistent == true
        && !transfer.request.closesConnection
      idleEnd = eventLoop.now.addingClamped(parser?.maximumIdle?.clampedNanoseconds ?? .max)
      detach()
      if isReusable { park() } else { close() }
      eventLoop.finish(transfer, with: nil)
    }

    /// Handles the end of the connection.
    ///
    /// - Parameters:
    ///   - isClosed: Whether the server has closed it in order.
    ///   - failure: What failed, if anything did: sending, perhaps before the server closed it.
    private func lost(_ transfer: Transfer, isClosed: Bool, _ failure: CurlError.Failure?) {
      let ending = parser?.closed() ?? .nothing
      // Sending reports a reset instead of receiving. If the server had closed before, it would report a broken pipe. One that
      // refuses a request resets the connection if it does not read the rest (RFC 9112 §9.6).
      let isClosed = isClosed && (isSecure || state.isRefused || failure?.systemError != Int(ECONNRESET))
      switch ending {
      case .complete where isClosed && (!isSecure || bytes?.isEndAnnounced == true): ended(transfer, hasSurplus: false)
      case .inHead where failure == nil:
        eventLoop.fail(transfer, .badServerResponse, "The server closed before its response head was complete")
      default:
        let failure = failure ?? (ending == .nothing ? .emptyReply : .partialBody)
        eventLoop.failed(
          transfer, failure,
          .init(code: failure.code, hasReusedConnection: exchangeCount > 1, isFinal: ending != .nothing))
      }
    }

    // MARK: - The end of an exchange

    private func detach() {
      eventLoop.connections.setTimer(self, at: .max)
      transfer?.loopConnection = nil
      transfer = nil
      parser = nil
      output.removeAll()
      (hasUnreadBytes, receivesLargePieces, outputNeedsInput) = (false, false, false)
      sendFailure = nil
    }

    private func park() {
      watch()
      eventLoop.park(self)
    }

    override func close() {
      guard let bytes else { return }
      self.bytes = nil
      detach()
      eventLoop.connections.remove(self)
      eventLoop.willClose(bytes.socket)
      bytes.close()
    }

    /// Watches the socket for what can be done. It is not watched at all while nothing can: the poller would report the
    /// end of the connection over and over.
    private func watch() {
      guard let bytes, transfer?.loopIsReadDirectly != true else { return }
      let mayRead = transfer?.loopPauses.contains(.receiving) != true
      let mustReadOn = hasUnreadBytes && mayRead
      let isExpecting = state.output == .expecting
      if mustReadOn || outputNeedsInput || isExpecting {
        let interval = mustReadOn ? 0 : outputNeedsInput ? Self.retryInterval : .max
        let next = eventLoop.now.addingClamped(interval)
        eventLoop.connections.setTimer(self, at: isExpecting ? min(next, expectationEnd) : next)
      }
      let what =
        (mayRead ? Int32(EKN_POLL_IN) : 0) | (output.isEmpty || outputNeedsInput ? 0 : Int32(EKN_POLL_OUT))
      eventLoop.watch(bytes.socket, what == 0 ? Int32(EKN_POLL_REMOVE) : what, connection: number)
    }
  }
#endif
