#if os(Linux)
  import CCurl
  import Foundation

  /// A connection on which the library speaks HTTP/2 (RFC 9113): the shell around nghttp2, which knows frames, HPACK and
  /// windows. What streams gather in a turn is sent at its end.
  final class HTTP2Connection: HTTPConnection {
    /// How often to read and to write in a row, so that a fast server does not keep the others waiting.
    private static let (maximumReads, maximumWrites) = (64, 16)
    /// How much is gathered before it is sent.
    private static let writeSize = 64 * 1024
    /// The number of requests at once, whatever the server allows.
    private static let maximumStreams = 100

    let opened: UInt64
    var session: OpaquePointer?
    private(set) var streams: [Int32: HTTP2Stream] = [:]
    /// The one that was looked up last.
    private var latest: HTTP2Stream?
    /// The requests that wait for a PING to be acknowledged.
    var held: [HTTP2Stream] = []
    var failing: [HTTP2Stream] = []
    /// What the streams may receive together.
    private var windows = 0
    /// The streams that wait for their servers to ask for the bodies, and until when (RFC 9110 §10.1.1).
    private var expecting: [(stream: HTTP2Stream, end: UInt64)] = []
    var health: ConnectionHealth
    /// Whether the server takes more requests.
    var accepts = true
    private var hasServed = false
    private var output: [UInt8] = []
    private var outputStart = 0
    private var isToBeFlushed = false

    override init(_ bytes: ConnectionBytes, _ times: ConnectionOpener.Times, inPlaceOf opening: OpeningConnection) {
      opened = opening.eventLoop.now
      health = ConnectionHealth(now: opening.eventLoop.now, trustedQuiet: opening.eventLoop.trustedQuiet)
      super.init(bytes, times, inPlaceOf: opening)
      session = withUnsafePointer(to: HTTP2Callbacks.all) {
        ekn_http2_client(
          $0, Unmanaged.passUnretained(self).toOpaque(), Int32(ReceiveWindow.initial), Int32(ReceiveWindow.connection),
          UInt32(ResponseHeadRules.maximumSize))
      }
      mustFlush()
    }

    deinit { if let session { ekn_http2_free(session) } }

    /// Returns a stream that is in use.
    func stream(_ number: Int32) -> HTTP2Stream? {
      if latest?.number != number { latest = streams[number] }
      return latest
    }

    /// Whether one more request can be sent over it.
    var hasRoom: Bool { mayHaveRoom && streams.count + held.count < maximumStreams }

    /// The number of requests at once that it takes.
    private var maximumStreams: Int {
      session.map { min(Int(ekn_http2_maximum_streams($0)), Self.maximumStreams) } ?? 0
    }

    /// Whether it takes more requests, now or when others have ended.
    var mayHaveRoom: Bool { accepts && session.map(ekn_http2_accepts_requests) == true }

    override var unsentCount: Int { output.count - outputStart }

    // MARK: - Requests

    /// Sends a request over it.
    func begin(_ transfer: Transfer) {
      if isIdle { pool.idle.noteInUse(self) }
      guard !transfer.request.onlyConnects else {
        hasServed = true
        // From now on it is idle for as long as a new one.
        mustFlush()
        return eventLoop.finish(transfer, with: Transfer.IsConnected())
      }
      let stream = HTTP2Stream(transfer, on: self, isReused: hasServed)
      hasServed = true
      transfer.loopConnection = stream
      transfer.loopLimitBuffer(to: ReceiveWindow.initial)
      windows += stream.window.size
      mustFlush()
      submit(stream)
    }

    /// Checks whether the server is still there (RFC 9113 §6.7).
    private func ping() {
      guard health.pings(now: eventLoop.now), let session else { return }
      ekn_http2_ping(session)
      mustFlush()
    }

    func submit(_ stream: HTTP2Stream) {
      let transfer = stream.transfer
      guard !health.mustPing(isIdempotent: transfer.request.isIdempotent, now: eventLoop.now) else {
        held.append(stream)
        return ping()
      }
      let body = stream.state.output == .complete ? nil : HTTP2Callbacks.all.read
      let head = HTTP2RequestHead(transfer.request.head, isSecure: transfer.request.isSecure)
      let number = session.map { session in
        head.withFields { ekn_http2_request(session, $0.baseAddress, $0.count, body) }
      }
      guard let number, number > 0 else {
        return finish(stream, with: CurlError.urlError(.noResources, url: transfer.request.url))
      }
      stream.number = number
      streams[number] = stream
      eventLoop.sent(transfer, over: self)
      if stream.state.output == .expecting {
        let timeout = ExchangeState.expectationTimeout.clampedNanoseconds
        expecting.append((stream, eventLoop.now.addingClamped(timeout)))
      }
    }

    func sendMore(_ stream: HTTP2Stream) {
      if stream.number > 0, let session { ekn_http2_resume(session, stream.number) }
      mustFlush()
    }

    /// How much the windows may grow, so that streams that are not read any more leave room for others.
    var spareWindow: Int { ReceiveWindow.connection / 2 - windows }

    /// Lets the server send what was read again, and perhaps more.
    func consumed(_ count: Int, of stream: HTTP2Stream, growth: Int) {
      guard let session else { return }
      ekn_http2_consume(session, stream.number, count)
      if growth > 0 {
        windows += growth
        ekn_http2_set_window(session, stream.number, Int32(stream.window.size))
      }
      mustFlush()
    }

    // MARK: - The end of an exchange

    private func detach(_ stream: HTTP2Stream) {
      if latest === stream { latest = nil }
      if stream.number > 0 { streams[stream.number] = nil } else { held.removeAll { $0 === stream } }
      if !expecting.isEmpty { expecting.removeAll { $0.stream === stream } }
      windows -= stream.window.size
      stream.transfer.loopConnection = nil
      // Also of a stream that is closed: it counts for the connection's window.
      if let session, stream.window.unread > 0 { ekn_http2_consume(session, stream.number, stream.window.unread) }
      mustFlush()
    }

    func reset(_ stream: HTTP2Stream) {
      guard stream.number > 0, let session else { return }
      let isSent = ekn_http2_has_sent(session, stream.number)
      ekn_http2_reset(session, stream.number, HTTP2ErrorCode.cancel.rawValue)
      // The server cannot know yet.
      if isSent { health.ignores(stream.window.size) }
    }

    func finish(_ stream: HTTP2Stream, with error: (any Error)?) {
      stream.transfer.loopNoteEnd(trailers: stream.trailers)
      detach(stream)
      eventLoop.finish(stream.transfer, with: error)
    }

    /// Ends an exchange whose consumer has left, or which has timed out.
    func abandon(_ stream: HTTP2Stream) {
      reset(stream)
      detach(stream)
      // If the server is silent, the next request must not wait for it as long.
      if stream.number > 0, health.isSilent(since: stream.transfer.loopBegun, now: eventLoop.now) { ping() }
    }

    /// Handles an exchange that ends with its stream or its connection.
    func lost(_ stream: HTTP2Stream, _ failure: CurlError.Failure, _ ending: ResendState.Ending) {
      stream.transfer.loopNoteEnd()
      detach(stream)
      eventLoop.failed(stream.transfer, failure, ending)
    }

    // MARK: - Events of the loop

    override var responseSocket: Int32? {
      let isSent =
        outputStart == output.count && held.isEmpty && !hasUnreadBytes && session.map(ekn_http2_wants_to_send) == false
      return isSent && streams.count == 1 ? bytes?.socket : nil
    }

    override func ready(_ descriptor: Int32, events: Int32) {
      guard descriptor == bytes?.socket else { return }
      if events & ~Int32(EKN_CSELECT_OUT) != 0 { read() }
      mustFlush()
    }

    override func timerFired() {
      if hasUnreadBytes { read() }
      guard bytes != nil else { return }
      let now = eventLoop.now
      while let first = expecting.first, first.end <= now {
        expecting.removeFirst()
        if first.stream.state.expectationTimedOut() { sendMore(first.stream) }
      }
      if let end = health.pingDeadline, end <= now { pingTimedOut() }
      mustFlush()
    }

    /// Sends the requests that wait for an acknowledgement elsewhere. Those in progress may still be answered.
    private func pingTimedOut() {
      accepts = false
      health.acknowledged()
      beginElsewhere()
    }

    /// Begins the requests of which nothing was sent on other connections.
    private func beginElsewhere() {
      for stream in held {
        detach(stream)
        eventLoop.connect(stream.transfer, in: pool)
      }
    }

    /// - Parameter failure: Why nothing can be sent any more. The responses may have been sent before.
    func read(orEndWith failure: CurlError.Failure? = nil) {
      hasUnreadBytes = true
      for _ in 0..<Self.maximumReads {
        guard let bytes else { return }
        switch bytes.receive(into: eventLoop.receiveBuffer) {
        case .moved(let count):
          received(UnsafeRawBufferPointer(rebasing: eventLoop.receiveBuffer[..<count]))
          // It may be closed now.
          if failure != nil || self.bytes?.mayHaveMore(after: count) == true { continue }
          hasUnreadBytes = false
        case .mustWait: hasUnreadBytes = false
        case .closed: return ended(failure ?? .emptyReply)
        case .failed(let error): return ended(error.following(failure))
        }
        break
      }
      if let failure, bytes != nil { ended(failure) }
    }

    func received(_ bytes: [UInt8]) { bytes.withUnsafeBytes { received($0) } }

    private func received(_ bytes: UnsafeRawBufferPointer) {
      guard let session, !bytes.isEmpty else { return }
      health.received(bytes.count, now: eventLoop.now)
      let memory = bytes.assumingMemoryBound(to: UInt8.self)
      let code = inSession { ekn_http2_receive(session, memory.baseAddress, memory.count) }
      guard code == 0, !health.isFlooded else {
        return broken(code == 0 ? "it floods the connection" : String(cString: ekn_http2_strerror(code)))
      }
      mustFlush()
    }

    /// Lets nghttp2 work, which calls back, and ends the exchanges that have failed meanwhile.
    private func inSession<Result>(_ body: () -> Result) -> Result {
      let result = body()
      while let stream = failing.popLast() {
        guard streams[stream.number] === stream else { continue }
        reset(stream)
        finish(stream, with: stream.failure)
      }
      return result
    }

    // MARK: - Sending

    private func mustFlush() {
      guard !isToBeFlushed, bytes != nil else { return }
      isToBeFlushed = true
      eventLoop.unsent.append(self)
    }

    func flush() {
      isToBeFlushed = false
      outputNeedsInput = false
      for _ in 0..<Self.maximumWrites {
        guard let bytes else { return }
        if outputStart == output.count, !gather() { break }
        switch output[outputStart...].withUnsafeBytes({ bytes.send($0) }) {
        case .moved(let count):
          outputStart += count
          continue
        case .mustWait, .closed: outputNeedsInput = bytes.outputNeedsInput
        case .failed(let failure): return read(orEndWith: failure)
        }
        break
      }
      settle()
    }

    /// Gathers frames to send, and returns whether there are any.
    private func gather() -> Bool {
      output.removeAll(keepingCapacity: output.capacity <= 2 * Self.writeSize)
      outputStart = 0
      guard let session else { return false }
      inSession {
        var frames: UnsafePointer<UInt8>?
        while output.count < Self.writeSize {
          let count = ekn_http2_take(session, &frames)
          guard count > 0 else { break }
          output += UnsafeBufferPointer(start: frames, count: count)
        }
      }
      return !output.isEmpty
    }

    /// Waits for what comes next.
    private func settle() {
      guard let bytes, let session else { return }
      if hasRoom || !mayHaveRoom { eventLoop.roomChanged(pool, origin) }
      // Once nghttp2 has sent the GOAWAY for an error of the server.
      if ekn_http2_is_over(session), !streams.isEmpty { return broken("a frame is invalid") }
      withdrawSurplus()
      let isOutputLeft = outputStart < output.count || ekn_http2_wants_to_send(session)
      let isUnused = streams.isEmpty && held.isEmpty
      if isUnused, !accepts || !ekn_http2_accepts_requests(session) { return close() }
      let isIdle = isUnused && !hasUnreadBytes && !isOutputLeft
      if self.isIdle, !isIdle { pool.idle.noteInUse(self) }
      let what = Int32(EKN_POLL_IN) | (isOutputLeft && !outputNeedsInput ? Int32(EKN_POLL_OUT) : 0)
      eventLoop.watch(bytes.socket, what, connection: number)
      guard !self.isIdle else { return }
      eventLoop.connections.setTimer(self, at: isIdle ? .max : nextTimer)
      if isIdle {
        pool.idle.noteIdle(self, until: eventLoop.now.addingClamped(eventLoop.pools.lifetime))?.close()
      }
    }

    /// Sends the requests elsewhere that nghttp2 would keep until others end, because the server allows fewer streams by now
    /// (RFC 9113 §5.1.2). One stays: a server that allows none would refuse it on any other connection.
    private func withdrawSurplus() {
      let surplus = streams.count - max(1, maximumStreams)
      guard surplus > 0, let session else { return }
      let unsent = streams.values.filter { !ekn_http2_has_sent(session, $0.number) }
      for stream in unsent.sorted(by: { $0.number < $1.number }).suffix(surplus) { eventLoop.requeue(stream.transfer) }
    }

    private var nextTimer: UInt64 {
      if hasUnreadBytes { return eventLoop.now }
      let retry = outputNeedsInput ? eventLoop.now.addingClamped(Self.retryInterval) : .max
      let ping = held.isEmpty ? nil : health.pingDeadline
      return min(retry, ping ?? .max, expecting.first?.end ?? .max)
    }

    // MARK: - The end of the connection

    /// Handles a server that does not keep to the protocol (RFC 9113 §5.4.1).
    private func broken(_ text: String) {
      guard let session else { return }
      let code = health.isFlooded ? HTTP2ErrorCode.enhanceYourCalm : .protocolError
      ekn_http2_goaway(session, code.rawValue)
      if let bytes, gather() { _ = output.withUnsafeBytes { bytes.send($0) } }
      ended(.init(code: CurlError.framingLoss, text: "The server violates HTTP/2: \(text)"), isFinal: true)
    }

    private func ended(_ failure: CurlError.Failure, isFinal: Bool = false) {
      // Other connections would be refused as well.
      let held = failure.certificateRefusal == nil ? [] : held
      let streams = streams.values.sorted { $0.number < $1.number } + held
      close()
      for stream in streams {
        let failure = stream.hasHead && failure.code == CurlError.emptyReply ? .partialBody : failure
        let wasSent = session.map { ekn_http2_has_sent($0, stream.number) } ?? true
        lost(
          stream, failure,
          .init(
            code: wasSent ? failure.code : CurlError.framingLoss, wasRefused: !wasSent,
            hasReusedConnection: stream.isReused, isFinal: wasSent && (isFinal || stream.hasResponse)))
      }
      beginElsewhere()
    }

    override func close() {
      guard let bytes else { return }
      if streams.isEmpty, let session, !ekn_http2_is_over(session) {
        ekn_http2_goaway(session, 0)
        if outputStart == output.count, gather() { _ = output.withUnsafeBytes { bytes.send($0) } }
      }
      self.bytes = nil
      accepts = false
      pool.shared.remove(self)
      eventLoop.roomChanged(pool, origin)
      eventLoop.connections.remove(self)
      eventLoop.willClose(bytes.socket)
      bytes.close()
    }
  }
#endif
