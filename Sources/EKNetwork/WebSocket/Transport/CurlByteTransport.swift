#if os(Linux)
  import CCurl
  import Foundation

  /// A byte transport over a connection that libcurl has opened.
  ///
  /// Unchecked: all mutable state belongs to the loop's thread, where everything but the protocol's methods runs.
  final class CurlByteTransport: ByteTransport, @unchecked Sendable {
    private enum Phase { case new, connecting, open, over }

    /// When to try again to send what needs input, in milliseconds, should the input have been missed.
    private static let retryInterval = 50

    private let address: ByteTransportEndpoint
    private let loop: SocketLoop
    private var phase = Phase.new
    private var number: UInt32 = 0
    /// While it is being opened.
    private var opener: ConnectionOpener?
    private var bytes: ConnectionBytes?
    private var watched = Int32(EKN_POLL_NONE)
    /// False from when a read found nothing until the socket is ready again.
    private var mayHaveBytes = true
    /// Whether an end that TLS does not announce differs from others.
    private var requiresAnnouncedEnd = false
    private var opening: CheckedContinuation<Void, any Error>?
    private var receiving: CheckedContinuation<[UInt8], any Error>?
    private var outgoing = SendBuffer()
    /// Whether nothing can be sent before something is received, although the socket is writable: in TLS 1.2 a server may
    /// begin a handshake at any time (RFC 5246 §7.4.1.1). Watching such a socket for output would be a loop.
    private var outputNeedsInput = false
    private var isFinished = false
    /// Set on any thread, for libcurl may not return to the loop before a proxy's response to `CONNECT` has ended.
    private let isCancelled = Locked(false)

    init(_ address: ByteTransportEndpoint, loop: SocketLoop) {
      self.address = address
      self.loop = loop
    }

    func open() async throws {
      try await withCheckedThrowingContinuation { continuation in
        loop.submit { self.loopOpen(continuation) }
      }
    }

    func receive() async throws -> [UInt8] {
      try await withCheckedThrowingContinuation { continuation in
        loop.submit { self.loopReceive(continuation) }
      }
    }

    func send(_ bytes: [UInt8], isLast: Bool, completion: @escaping @Sendable ((any Error)?) -> Void) {
      loop.submit { self.loopSend(bytes, isLast: isLast, completion) }
    }

    func output() async -> ByteTransportOutput {
      await withCheckedContinuation { continuation in
        loop.submit { continuation.resume(returning: self.loopOutput()) }
      }
    }

    func cancel() {
      isCancelled.withLock { $0 = true }
      loop.submit { self.loopEnd(ByteTransportError.cancelled) }
    }

    // MARK: - The loop's thread

    private func loopOpen(_ continuation: CheckedContinuation<Void, any Error>) {
      guard phase == .new else { return continuation.resume(throwing: ByteTransportError.cancelled) }
      opening = continuation
      phase = .connecting
      number = loop.add(self)
      guard let capabilities = CurlLibrary.capabilities else { return loopEnd(URLError(.resourceUnavailable)) }
      do {
        opener = try ConnectionOpener(
          address, capabilities,
          watch: { [unowned self] in loop.watch($0, $1, number: number) },
          setTimer: { [unowned self] in loop.setTimer(number, milliseconds: $0) },
          mustStop: { [unowned self] in isCancelled.withLock { $0 } })
      } catch {
        return loopEnd(error)
      }
      guard opener != nil else { return loopEnd(URLError(.resourceUnavailable)) }
      loopReady(Int32(EKN_SOCKET_TIMEOUT), events: 0)
    }

    func loopReady(_ descriptor: Int32, events: Int32) {
      switch phase {
      case .new, .over: break
      case .connecting:
        guard let outcome = opener?.act(on: descriptor, events: events) else { return }
        opener = nil
        loopOpened(outcome)
      case .open:
        guard descriptor == bytes?.socket || descriptor == EKN_SOCKET_TIMEOUT else { return }
        if events & ~Int32(EKN_CSELECT_OUT) != 0 { mayHaveBytes = true }
        if receiving != nil { loopRead() }
        if phase == .open, !outgoing.isEmpty { loopWrite() }
        loopWatch()
      }
    }

    private func loopOpened(_ outcome: ConnectionOpener.Outcome) {
      loop.setTimer(number, milliseconds: -1)
      switch outcome {
      case .success(let opened):
        bytes = opened.bytes
        phase = .open
        opening.take()?.resume()
      case .failure(let failure) where failure.code == CurlError.timeLimit: loopEnd(WebSocketError.timedOut)
      case .failure(let failure) where failure.code == CurlError.noResources: loopEnd(URLError(.resourceUnavailable))
      case .failure(let failure): loopEnd(CurlError.urlError(failure, url: URL(string: address.url)))
      }
    }

    private func loopReceive(_ continuation: CheckedContinuation<[UInt8], any Error>) {
      guard phase == .open, receiving == nil else {
        return continuation.resume(throwing: ByteTransportError.cancelled)
      }
      receiving = continuation
      // Read before waiting: bytes that TLS has already decrypted do not make the socket ready.
      if mayHaveBytes { loopRead() }
      if phase == .open, outputNeedsInput { loopWrite() }
      loopWatch()
    }

    private func loopRead() {
      guard let bytes, let continuation = receiving else { return }
      let buffer = loop.buffer
      var total = 0
      var last = ConnectionBytes.Progress.moved(0)
      while total < buffer.count {
        last = bytes.receive(into: UnsafeMutableRawBufferPointer(rebasing: buffer[total...]))
        if !requiresAnnouncedEnd {
          bytes.requireAnnouncedEnd()
          requiresAnnouncedEnd = true
        }
        guard case .moved(let count) = last else { break }
        total += count
        // The socket is ready again if there is more.
        guard bytes.mayHoldBytes else {
          last = .mustWait
          break
        }
      }
      if case .mustWait = last { mayHaveBytes = false }
      switch last {
      case _ where total > 0:
        receiving = nil
        continuation.resume(returning: [UInt8](UnsafeRawBufferPointer(rebasing: buffer[..<total])))
      case .moved, .closed:
        // RFC 8446 §6.1: anybody on the way could have ended it.
        guard bytes.isEndAnnounced else {
          return loopEnd(ByteTransportError.failed("The connection ended without the closing alert of TLS"))
        }
        receiving = nil
        continuation.resume(returning: [])
      case .mustWait: break
      case .failed(let failure):
        loopEnd(
          failure.certificateRefusal == nil
            ? ByteTransportError.failed(failure.text) : CurlError.urlError(failure, url: URL(string: address.url)))
      }
    }

    private func loopSend(_ bytes: [UInt8], isLast: Bool, _ completion: @escaping @Sendable ((any Error)?) -> Void) {
      guard phase == .open, !isFinished else { return completion(ByteTransportError.cancelled) }
      isFinished = isLast
      outgoing.append(bytes, completion)
      if outgoing.count == 1 { loopWrite() }
      loopWatch()
    }

    private func loopWrite() {
      guard let bytes else { return }
      let progress = outgoing.write(bytes.send)
      outputNeedsInput = progress.isBlocked && !progress.hasMoved && bytes.outputNeedsInput
      let failure = progress.failure.map { ByteTransportError.failed($0.text) }
      let failed = failure == nil ? [] : outgoing.removeAll()
      for completion in progress.finished { completion(nil) }
      guard let failure else { return }
      // Bytes that the peer sent before it closed, such as a close frame, can still be read. Reading detects the end
      // itself.
      isFinished = true
      for completion in failed { completion(failure) }
    }

    /// Watches the socket for the events that are needed. If there are none, it is not watched at all: epoll reports a
    /// closed connection over and over, even when no events were requested. Between two reads it stays watched until it
    /// is readable: a reader of a message mostly waits for another, which saves two system calls.
    private func loopWatch() {
      guard phase == .open, let bytes else { return }
      if outputNeedsInput { loop.setTimer(number, milliseconds: Self.retryInterval) }
      let isIdle = (outputNeedsInput || watched & Int32(EKN_POLL_IN) != 0) && !mayHaveBytes
      let wanted =
        (receiving != nil || isIdle ? Int32(EKN_POLL_IN) : 0)
        | (outgoing.isEmpty || outputNeedsInput ? 0 : Int32(EKN_POLL_OUT))
      guard wanted != watched else { return }
      watched = wanted
      loop.watch(bytes.socket, wanted == 0 ? Int32(EKN_POLL_REMOVE) : wanted, number: number)
    }

    private func loopOutput() -> ByteTransportOutput {
      guard phase == .open, let bytes else { return ByteTransportOutput() }
      let output = ekn_socket_get_output(bytes.socket)
      // Without TCP, nothing is confirmed.
      return ByteTransportOutput(
        unsent: Int(clamping: output.queued), confirmed: output.confirmed > 0 ? output.confirmed : nil)
    }

    private func loopEnd(_ error: any Error) {
      guard phase != .over else { return }
      phase = .over
      opener.take()?.cancel()
      if let bytes = bytes.take() {
        if watched != 0 { loop.watch(bytes.socket, Int32(EKN_POLL_REMOVE), number: number) }
        bytes.close()
      }
      loop.remove(number)
      let completions = outgoing.removeAll()
      opening.take()?.resume(throwing: error)
      receiving.take()?.resume(throwing: error)
      for completion in completions { completion(error) }
    }
  }

  /// The bytes that a connection has yet to send.
  struct SendBuffer {
    typealias Completion = @Sendable ((any Error)?) -> Void

    struct Progress {
      /// The completions of those that were sent completely.
      var finished: [Completion] = []
      var isBlocked = false
      var failure: CurlError.Failure?
      var hasMoved = false
    }

    private struct Entry {
      let bytes: [UInt8]
      var offset = 0
      let completion: Completion
    }

    /// The maximum size of a write. TLS requires a write to be repeated with the same bytes: each piece begins where
    /// the last one ended.
    private static let pieceSize = 256 * 1024

    private var entries: [Entry] = []

    var isEmpty: Bool { entries.isEmpty }
    var count: Int { entries.count }

    mutating func append(_ bytes: [UInt8], _ completion: @escaping Completion) {
      entries.append(Entry(bytes: bytes, completion: completion))
    }

    mutating func write(_ send: (UnsafeRawBufferPointer) -> ConnectionBytes.Progress) -> Progress {
      var progress = Progress()
      var done = 0
      while done < entries.count, !progress.isBlocked, progress.failure == nil {
        let offset = entries[done].offset
        let sent = entries[done].bytes.withUnsafeBytes { bytes in
          let piece = bytes[offset...].prefix(Self.pieceSize)
          return piece.isEmpty ? .moved(0) : send(UnsafeRawBufferPointer(rebasing: piece))
        }
        switch sent {
        case .moved(let count):
          progress.hasMoved = true
          entries[done].offset += count
          if entries[done].offset == entries[done].bytes.count { done += 1 }
        case .mustWait, .closed: progress.isBlocked = true
        case .failed(let failure): progress.failure = failure
        }
      }
      progress.finished = entries[..<done].map { $0.completion }
      entries.removeFirst(done)
      return progress
    }

    mutating func removeAll() -> [Completion] {
      defer { entries = [] }
      return entries.map { $0.completion }
    }
  }
#endif
