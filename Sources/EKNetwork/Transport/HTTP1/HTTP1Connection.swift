#if os(Linux)
  import CCurl
  import Foundation
  import FoundationNetworking

  /// A connection on which the library itself speaks HTTP/1.1 (RFC 9112). libcurl opens it: names, addresses and the
  /// choice between them are its own. It belongs to the thread that holds the turn of its event loop.
  ///
  /// The shell of ``RequestHead``, ``ExchangeState`` and ``ResponseParser``.
  final class HTTP1Connection: DeadlineHeapElement {
    private enum Phase {
      case connecting
      case open
      case over
    }

    /// How often to read and to write in a row, so that a fast server does not keep the others waiting. With TLS one read
    /// returns at most a record (RFC 8446 §5.1).
    private static let (maximumReads, maximumSecureReads, maximumWrites) = (4, 64, 16)
    /// When to try again to send what needs input, in nanoseconds, should the input have been missed.
    private static let retryInterval: UInt64 = 50_000_000

    let number: UInt32
    /// Stands for the ``ConnectionIdentity``. It is freed after its connections are closed.
    unowned let pool: CurlPool
    let origin: Origin
    /// Its place among the timers, or, while it is idle, among those to be closed.
    var deadlineIndex = -1
    var isIdle = false
    private unowned let eventLoop: CurlEventLoop
    private var phase = Phase.connecting
    /// While it is being opened.
    private var opener: ConnectionOpener?
    private var bytes: ConnectionBytes?
    /// Whether reading stopped although there may be bytes that have left the socket.
    private var hasUnreadBytes = false
    private var outputNeedsInput = false
    private var times = ConnectionOpener.Times()

    private(set) var transfer: CurlTransfer?
    /// The number of requests that were sent over it, including the current one.
    private var exchangeCount = 0
    private var state = ExchangeState(hasBody: false, expects: false)
    private var parser: ResponseParser?
    private var output = OutputBuffer()
    private var begun: UInt64 = 0
    private var firstByte: UInt64?
    private var version: String?

    init(number: UInt32, pool: CurlPool, origin: Origin, eventLoop: CurlEventLoop) {
      self.number = number
      self.pool = pool
      self.origin = origin
      self.eventLoop = eventLoop
    }

    private var isSecure: Bool { origin.scheme == "https" }

    // MARK: - Opening

    /// Begins to open the connection for a request.
    ///
    /// - Returns: An error if that is not possible.
    func open(for transfer: CurlTransfer) -> (any Error)? {
      self.transfer = transfer
      transfer.loopConnection = self
      begun = transfer.loopBegun
      var endpoint = ByteTransportEndpoint(
        host: HostSyntax.unbracketed(origin.host), port: origin.port, isSecure: isSecure)
      endpoint.proxies = transfer.request.proxies
      endpoint.tls = pool.key.connection.tls
      do {
        opener = try ConnectionOpener(
          endpoint, eventLoop.capabilities, shared: eventLoop.opening, names: eventLoop.names,
          watch: { [unowned self] in eventLoop.watch($0, $1, connection: number) },
          setTimer: { [unowned self] in
            eventLoop.connections.setTimer(self, at: LoopTime.timer(milliseconds: $0, now: MonotonicClock.now()))
          }, mustStop: { [unowned self] in mustStopConnecting })
      } catch {
        return error
      }
      guard opener != nil else { return CurlEventLoop.resourceError(url: transfer.request.url) }
      connect(on: Int32(EKN_SOCKET_TIMEOUT), events: 0)
      return nil
    }

    private func connect(on descriptor: Int32, events: Int32) {
      guard let outcome = opener?.act(on: descriptor, events: events) else { return }
      opener = nil
      eventLoop.connections.setTimer(self, at: nil)
      guard let transfer else { return close() }
      switch outcome {
      case .opened(let bytes, let times):
        self.bytes = bytes
        self.times = times
        phase = .open
        exchange()
      case .failed(let failure): eventLoop.failed(transfer, failure, hasReusedConnection: false, hasResponse: false)
      case .endlessTunnel: eventLoop.finish(transfer, with: TunnelWatch.error(url: transfer.request.url))
      case .noResources: eventLoop.finish(transfer, with: CurlEventLoop.resourceError(url: transfer.request.url))
      }
    }

    private var mustStopConnecting: Bool {
      guard let transfer, !transfer.isOver else { return true }
      guard transfer.loopDeadline <= MonotonicClock.now() else { return false }
      transfer.loopFailure = CurlError.make(.timedOut, "The request timed out", url: transfer.request.url)
      return true
    }

    // MARK: - Exchanges

    /// Sends a request over an idle connection.
    func begin(_ transfer: CurlTransfer) {
      self.transfer = transfer
      transfer.loopConnection = self
      begun = transfer.loopBegun
      exchange()
    }

    /// Whether an idle connection can be used: nothing has arrived on it.
    var isQuiet: Bool { phase == .open && bytes?.isQuiet == true }

    private func exchange() {
      guard let transfer else { return }
      exchangeCount += 1
      guard transfer.loopSends(wasRefused: false) else {
        return eventLoop.finish(transfer, with: transfer.loopStopError)
      }
      firstByte = nil
      parser = ResponseParser(url: transfer.request.url, method: transfer.request.method)
      state = ExchangeState(
        hasBody: transfer.request.upload != nil, expects: transfer.request.hasExpectation,
        isDeclaredEmpty: transfer.request.upload?.isDeclaredEmpty == true)
      transfer.loopLastActivity = eventLoop.now
      if state.output != .checking { output.append(transfer.request.head) }
      if state.output == .expecting {
        let timeout = ExchangeState.expectationTimeout.clampedNanoseconds
        eventLoop.connections.setTimer(self, at: eventLoop.now.addingClamped(timeout))
      }
      if transfer.request.upload?.length != nil { _ = fill(transfer) }
      write()
    }

    /// Handles a socket that is ready.
    func ready(_ descriptor: Int32, events: Int32) {
      switch phase {
      case .connecting: connect(on: descriptor, events: events)
      case .open:
        guard descriptor == bytes?.socket else { return }
        guard transfer != nil else {
          if !isQuiet { close() }
          return
        }
        if events & Int32(EKN_CSELECT_OUT) != 0 { write() }
        if events & ~Int32(EKN_CSELECT_OUT) != 0, phase == .open, transfer != nil { read() }
        if outputNeedsInput, phase == .open, transfer != nil { write() }
      case .over: break
      }
    }

    /// Handles the timer of the connection.
    func timerFired() {
      switch phase {
      case .connecting: connect(on: Int32(EKN_SOCKET_TIMEOUT), events: 0)
      case .open:
        if hasUnreadBytes { read() } else if outputNeedsInput || state.expectationTimedOut() { write() }
      case .over: break
      }
    }

    /// Continues after the transfer was paused: its consumer has read, or its body has something to send.
    func resumed() {
      // TLS may have read what its consumer has not: no event would follow.
      if bytes?.mayHoldBytes == true, transfer != nil { read() }
      guard phase == .open, let transfer else { return }
      if transfer.loopPauseBits & Int(EKN_PAUSE_SEND) == 0 { write() } else { watch() }
    }

    /// Notes that the transfer is paused: nothing is read until it is resumed.
    func paused() { if phase == .open { watch() } }

    /// Ends the exchange before the response is complete: the connection cannot be used again (RFC 9112 §9.6).
    func abandon() { close() }

    /// The state of the connection's output in the kernel.
    var kernelOutput: ekn_socket_output { bytes.map { ekn_socket_get_output($0.socket) } ?? ekn_socket_output() }

    /// The timings of the current exchange.
    var timings: NetworkTimings {
      let isReused = exchangeCount > 1
      func elapsed(_ time: UInt64) -> Duration { .nanoseconds(Int64(clamping: time - min(begun, time))) }
      return NetworkTimings(
        nameLookup: isReused ? nil : times.lookup, connect: isReused ? nil : times.connect - times.lookup,
        secureConnect: isReused ? nil : times.secureConnect,
        firstByte: firstByte.map(elapsed), total: elapsed(MonotonicClock.now()), isConnectionReused: isReused,
        protocolName: version, remoteAddress: peerAddress)
    }

    private var peerAddress: String? {
      var text = [CChar](repeating: 0, count: 64)
      guard let bytes, ekn_socket_get_peer(bytes.socket, &text, text.count) else { return nil }
      return text.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } }
    }

    // MARK: - Sending

    /// Writes as much of the request as possible.
    private func write() {
      for _ in 0..<Self.maximumWrites {
        guard phase == .open, let bytes, let transfer else { return }
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
          // RFC 9112 §9.5: the response may have been sent before the connection was closed.
          return read(orFailWith: failure)
        }
        break
      }
      // The poller reports when the next piece can be sent.
      if output.isEmpty, let transfer { _ = fill(transfer) }
      watch()
    }

    /// Reads the next piece of the body. Returns whether there is anything to send.
    private func fill(_ transfer: CurlTransfer) -> Bool {
      let isChecking = state.output == .checking
      guard isChecking || state.output == .body, let upload = transfer.request.upload,
        transfer.loopPauseBits & Int(EKN_PAUSE_SEND) == 0
      else { return false }
      guard transfer.loopIsAtBodyStart(upload) else {
        eventLoop.finish(transfer, with: transfer.loopFailure)
        return false
      }
      let length = upload.length
      if let length, transfer.loopBodyCount >= length {
        state.wroteBody()
        return false
      }
      let rest = length.map { $0 - transfer.loopBodyCount } ?? .max
      let result =
        isChecking
        ? Self.readByte(of: upload) : output.fill(upTo: rest, isChunked: length == nil) { upload.read(into: $0) }
      transfer.loopLastActivity = eventLoop.now
      switch result {
      case .bytes where isChecking:
        return stop(transfer, "The body is longer than its length")
      case .bytes(let count):
        transfer.loopReadBody(count)
        if transfer.loopBodyCount == length { state.wroteBody() }
        return true
      case .end:
        transfer.loopEndedBody()
        guard length == nil else { return stop(transfer, "The body is shorter than its length") }
        if isChecking { output.append(transfer.request.head) }
        state.wroteBody()
        return true
      case .pending:
        transfer.loopPauseBits |= Int(EKN_PAUSE_SEND)
        return false
      case .failed(let error):
        eventLoop.finish(transfer, with: error)
        return false
      }
    }

    private func stop(_ transfer: CurlTransfer, _ text: String) -> Bool {
      eventLoop.finish(
        transfer, with: CurlError.make(.requestBodyStreamExhausted, text, url: transfer.request.url))
      return false
    }

    private static func readByte(of upload: any UploadSource) -> UploadRead {
      var byte: UInt8 = 0
      return withUnsafeMutableBytes(of: &byte) { upload.read(into: $0) }
    }

    // MARK: - Receiving

    private func read(orFailWith failure: CurlError.Failure? = nil) {
      let buffer = eventLoop.receiveBuffer
      hasUnreadBytes = bytes?.mayHoldBytes == true
      for _ in 0..<(hasUnreadBytes ? Self.maximumSecureReads : Self.maximumReads) {
        guard phase == .open, let bytes, let transfer, transfer.loopPauseBits & Int(EKN_PAUSE_RECV) == 0 else { return }
        switch bytes.receive(into: buffer) {
        case .moved(let count):
          transfer.loopLastActivity = eventLoop.now
          if firstByte == nil { firstByte = MonotonicClock.now() }
          parse(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
          if count == buffer.count || bytes.mayHoldBytes { continue }
        case .mustWait: hasUnreadBytes = false
        case .closed: return lost(transfer, isClosed: true, failure)
        case .failed(let error): return lost(transfer, isClosed: false, failure ?? error)
        }
        break
      }
      guard phase == .open, transfer != nil else { return }
      watch()
    }

    private func parse(_ bytes: UnsafeRawBufferPointer) {
      var offset = 0
      var mayWrite = false
      while let transfer, let event = parser?.next(bytes, &offset) {
        switch event {
        case .interim(let head): if state.interim(status: head.statusCode) { mayWrite = true }
        case .head(let head):
          if isClosingNotice(head), eventLoop.resends(transfer, after: .staleConnection) { return }
          if transfer.request.wantsTimings { version = head.version }
          // RFC 9112 §9.8: anybody on the way could end such a body early.
          if isSecure, parser?.endsWithConnection == true { self.bytes?.requireAnnouncedEnd() }
          transfer.loopReceivedHead(head)
          state.responded(status: head.statusCode)
          eventLoop.markDirty(transfer)
        case .body(let bytes):
          eventLoop.markDirty(transfer)
          if transfer.loopReceivedBody(bytes) { eventLoop.deliver(transfer) }
        case .end: return ended(transfer, hasSurplus: offset < bytes.count)
        case .failure(let code, let text):
          return eventLoop.finish(transfer, with: CurlError.make(code, text, url: transfer.request.url))
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

    /// Handles the end of a response.
    private func ended(_ transfer: CurlTransfer, hasSurplus: Bool) {
      state.ended()
      transfer.loopMeasure()
      let isReusable =
        state.isComplete && output.isEmpty && !hasSurplus && parser?.isPersistent == true
        && !transfer.request.closesConnection
      detach()
      if isReusable { park() } else { close() }
      eventLoop.finish(transfer, with: nil)
    }

    /// Handles the end of the connection.
    ///
    /// - Parameters:
    ///   - isClosed: Whether the server has closed it in order.
    ///   - failure: What failed, if anything did: sending, perhaps before the server closed it.
    private func lost(_ transfer: CurlTransfer, isClosed: Bool, _ failure: CurlError.Failure?) {
      let ending = parser?.closed() ?? .nothing
      switch ending {
      case .complete where isClosed && (!isSecure || bytes?.isEndAnnounced == true): ended(transfer, hasSurplus: false)
      case .inHead where failure == nil:
        eventLoop.finish(
          transfer,
          with: CurlError.make(
            .badServerResponse, "The server closed before its response head was complete", url: transfer.request.url))
      default:
        eventLoop.failed(
          transfer, failure ?? (ending == .nothing ? .emptyReply : .partialBody),
          hasReusedConnection: exchangeCount > 1, hasResponse: ending != .nothing)
      }
    }

    // MARK: - The end of an exchange

    private func detach() {
      eventLoop.connections.setTimer(self, at: nil)
      transfer?.loopConnection = nil
      transfer = nil
      parser = nil
      output.removeAll()
      (hasUnreadBytes, outputNeedsInput) = (false, false)
    }

    private func park() {
      watch()
      eventLoop.park(self)
    }

    /// Closes the connection.
    func close() {
      guard phase != .over else { return }
      phase = .over
      detach()
      eventLoop.connections.remove(self)
      opener?.cancel()
      opener = nil
      guard let bytes else { return }
      eventLoop.willClose(bytes.socket)
      bytes.close()
      self.bytes = nil
    }

    /// Watches the socket for what can be done. It is not watched at all while nothing can: the poller would report the
    /// end of the connection over and over.
    private func watch() {
      guard phase == .open, let bytes else { return }
      let mayRead = (transfer?.loopPauseBits ?? 0) & Int(EKN_PAUSE_RECV) == 0
      if outputNeedsInput || hasUnreadBytes && mayRead {
        let interval = hasUnreadBytes && mayRead ? 0 : Self.retryInterval
        eventLoop.connections.setTimer(self, at: eventLoop.now.addingClamped(interval))
      }
      let what =
        (mayRead ? Int32(EKN_POLL_IN) : 0) | (output.isEmpty || outputNeedsInput ? 0 : Int32(EKN_POLL_OUT))
      eventLoop.watch(bytes.socket, what == 0 ? Int32(EKN_POLL_REMOVE) : what, connection: number)
    }
  }
#endif
