#if os(Linux)
  import CCurl
  import Foundation
  import FoundationNetworking

  /// A byte transport over a bare libcurl connection: with its name resolution, proxies and TLS, without its HTTP.
  ///
  /// Unchecked: all mutable state belongs to the loop's thread, where everything but the protocol's methods runs.
  final class CurlByteTransport: ByteTransport, @unchecked Sendable {
    private enum Phase { case new, connecting, open, over }

    /// When to try again to send what needs input, in milliseconds, should the input have been missed.
    private static let retryInterval = 50

    private let address: ByteTransportEndpoint
    private let loop: CurlSocketLoop
    private var phase = Phase.new
    private var number: UInt32 = 0
    private var handles: CurlBareHandles?
    private var socket: Int32 = -1
    private var watched = Int32(EKN_POLL_NONE)
    /// False from when a read found nothing until the socket is ready again.
    private var mayHaveBytes = true
    private var opening: CheckedContinuation<Void, any Error>?
    private var receiving: CheckedContinuation<[UInt8], any Error>?
    private var outgoing = SendBuffer()
    /// Whether nothing can be sent before something is received, although the socket is writable: in TLS 1.2 a server may
    /// begin a handshake at any time (RFC 5246 §7.4.1.1). Watching such a socket for output would be a loop.
    private var outputNeedsInput = false
    private var isFinished = false
    private var tunnel = TunnelWatch()
    private var tunnelFailure: (any Error)?
    /// Set on any thread, for libcurl may not return to the loop before a proxy's response to `CONNECT` has ended.
    private let isCancelled = Locked(false)

    private var easy: OpaquePointer? { handles?.easy }
    private var multi: OpaquePointer? { handles?.multi }

    init(_ address: ByteTransportEndpoint, loop: CurlSocketLoop) {
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

    func unsentBytes() async -> Int? {
      await withCheckedContinuation { continuation in
        loop.submit { continuation.resume(returning: self.loopUnsentBytes()) }
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
      guard let capabilities = CurlLibrary.capabilities,
        let handles = CurlBareHandles(joinsResolver: capabilities.joinsResolver)
      else { return loopEnd(ByteTransportError.unavailable) }
      self.handles = handles
      let context = Unmanaged.passUnretained(self).toOpaque()
      if let error = handles.configure(address, capabilities, progress: progressCallback, context: context) {
        return loopEnd(error)
      }
      let multi = handles.multi
      guard ekn_multi_set_socket_callback(multi, socketCallback, context) == 0,
        ekn_multi_set_timer_callback(multi, timerCallback, context) == 0, ekn_multi_add(multi, handles.easy) == 0
      else { return loopEnd(ByteTransportError.unavailable) }
      loopReady(Int32(EKN_SOCKET_TIMEOUT), events: 0)
    }

    /// Handles a socket that is ready, or libcurl's timer that has fired.
    func loopReady(_ descriptor: Int32, events: Int32) {
      switch phase {
      case .new, .over: break
      case .connecting:
        guard let multi else { return }
        var running: Int32 = 0
        _ = ekn_multi_socket_action(multi, descriptor, events, &running)
        let completion = ekn_multi_next_completion(multi)
        if completion.easy != nil { loopOpened(code: Int(completion.code)) }
      case .open:
        guard descriptor == socket || descriptor == EKN_SOCKET_TIMEOUT else { return }
        if events & ~Int32(EKN_CSELECT_OUT) != 0 { mayHaveBytes = true }
        if receiving != nil { loopRead() }
        if phase == .open, !outgoing.isEmpty { loopWrite() }
        loopWatch()
      }
    }

    /// Returns whether libcurl has to stop connecting.
    fileprivate func loopMustStop() -> Bool {
      guard phase == .connecting, let handles else { return false }
      switch tunnel.step(sockets: handles.lookup.pointee.sockets) {
      case .proceed: return false
      case .check: return isCancelled.withLock { $0 }
      case .end:
        tunnelFailure = url.map { TunnelWatch.error(url: $0) }
        return true
      }
    }

    private func loopOpened(code: Int) {
      guard let easy else { return }
      loop.setTimer(number, milliseconds: nil)
      socket = ekn_easy_socket(easy)
      guard code == 0, socket >= 0 else { return loopEnd(connectError(code)) }
      phase = .open
      opening?.resume()
      opening = nil
    }

    private var url: URL? { URL(string: address.url) }

    private func connectError(_ code: Int) -> any Error {
      if let tunnelFailure { return tunnelFailure }
      guard let handles, let url else { return ByteTransportError.unavailable }
      return CurlError.urlError(handles.failure(code: code), url: url)
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
      guard let easy, let continuation = receiving else { return }
      let buffer = loop.buffer
      var total = 0
      var code: Int32 = 0
      while total < buffer.count {
        var count = 0
        code = ekn_bare_receive(easy, buffer.baseAddress?.advanced(by: total), buffer.count - total, &count)
        guard code == 0, count > 0 else { break }
        total += count
      }
      if code == EKN_AGAIN { mayHaveBytes = false }
      if total > 0 {
        receiving = nil
        continuation.resume(returning: [UInt8](UnsafeRawBufferPointer(rebasing: buffer[..<total])))
      } else if code == 0 {
        receiving = nil
        continuation.resume(returning: [])
      } else if code != EKN_AGAIN {
        loopEnd(ByteTransportError.failed(String(cString: ekn_easy_strerror(code))))
      }
    }

    private func loopSend(
      _ bytes: [UInt8], isLast: Bool, _ completion: @escaping @Sendable ((any Error)?) -> Void
    ) {
      guard phase == .open, !isFinished else { return completion(ByteTransportError.cancelled) }
      isFinished = isLast
      outgoing.append(bytes, completion)
      if outgoing.count == 1 { loopWrite() }
      loopWatch()
    }

    private func loopWrite() {
      guard let easy else { return }
      let progress = outgoing.write { ekn_bare_send(easy, $0.baseAddress, $0.count, &$1) }
      let isBlocked = progress.code == EKN_AGAIN
      outputNeedsInput = isBlocked && !progress.hasMoved && ekn_socket_is_writable(socket)
      let failure =
        isBlocked || progress.code == 0
        ? nil : ByteTransportError.failed(String(cString: ekn_easy_strerror(progress.code)))
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
      guard phase == .open else { return }
      if outputNeedsInput { loop.setTimer(number, milliseconds: Self.retryInterval) }
      let isIdle = (outputNeedsInput || watched & Int32(EKN_POLL_IN) != 0) && !mayHaveBytes
      let wanted =
        (receiving != nil || isIdle ? Int32(EKN_POLL_IN) : 0)
        | (outgoing.isEmpty || outputNeedsInput ? 0 : Int32(EKN_POLL_OUT))
      guard wanted != watched else { return }
      watched = wanted
      loop.watch(socket, wanted == 0 ? Int32(EKN_POLL_REMOVE) : wanted, number: number)
    }

    private func loopUnsentBytes() -> Int? {
      var count: Int32 = 0
      // tcp(7): SIOCOUTQ, which has the same value.
      guard phase == .open, ioctl(socket, UInt(TIOCOUTQ), &count) == 0 else { return nil }
      return Int(count)
    }

    private func loopEnd(_ error: any Error) {
      guard phase != .over else { return }
      if watched != 0 { loop.watch(socket, Int32(EKN_POLL_REMOVE), number: number) }
      phase = .over
      handles?.close()
      handles = nil
      loop.remove(number)
      let completions = outgoing.removeAll()
      opening?.resume(throwing: error)
      opening = nil
      receiving?.resume(throwing: error)
      receiving = nil
      for completion in completions { completion(error) }
    }

    fileprivate func loopWatchConnecting(_ descriptor: Int32, _ what: Int32) {
      guard phase == .connecting || what == EKN_POLL_REMOVE else { return }
      loop.watch(descriptor, what, number: number)
    }

    fileprivate func loopSetTimer(_ milliseconds: Int) {
      loop.setTimer(number, milliseconds: milliseconds < 0 ? nil : milliseconds)
    }
  }

  private func transport(_ context: UnsafeMutableRawPointer?) -> CurlByteTransport? {
    context.map { Unmanaged<CurlByteTransport>.fromOpaque($0).takeUnretainedValue() }
  }

  private let socketCallback: ekn_socket_callback = { _, descriptor, what, context, _ in
    transport(context)?.loopWatchConnecting(descriptor, what)
    return 0
  }

  private let progressCallback: ekn_progress_callback = { context, _, _, _, _ in
    transport(context)?.loopMustStop() == true ? 1 : 0
  }

  private let timerCallback: ekn_timer_callback = { _, milliseconds, context in
    transport(context)?.loopSetTimer(milliseconds)
    return 0
  }
#endif
