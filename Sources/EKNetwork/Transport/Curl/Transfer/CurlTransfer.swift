#if os(Linux)
  import CCurl
  import Foundation
  import FoundationNetworking

  /// One exchange on the wire, shared by the event loop, which pushes, and a consumer, which pulls.
  ///
  /// Unchecked: `request` is immutable, `loop…` members belong to the thread that holds the turn of the event loop that has the
  /// transfer, but for `loopLoan`, and the rest is in `queue`, which has its lock.
  final class CurlTransfer: DeadlineHeapElement, @unchecked Sendable {
    typealias Queue = ResponseQueue<
      UnsafeContinuation<ResponseHead, any Error>, UnsafeContinuation<Data?, any Error>
    >

    let request: CurlRequest
    /// Whose queue it is in. Another may carry it out.
    let eventLoop: CurlEventLoop
    private let queue = Locked(Queue())
    private let measured = Locked<NetworkTimings?>(nil)

    /// While another loop has it. Touched in the turns of `eventLoop` alone.
    var loopLoan: CurlEventLoop.Loan?

    // The loop's own that has it, touched in its turns alone.
    /// From when it is submitted to its end.
    var loopPool: CurlPool?
    var loopTicket: RequestQueue<CurlTransfer>.Ticket?
    /// While it is under way.
    var loopHandle: CurlHandle?
    /// When it was submitted, and when it was given to libcurl.
    var loopSubmitted: UInt64 = 0
    var loopBegun: UInt64 = 0
    var loopParser: ResponseHeadParser
    var loopLastActivity: UInt64 = 0
    var loopPauseBits = 0
    /// Its socket, while the body has nothing to send and ``CurlPool`` looks at that; else -1.
    var loopPausedSocket: Int32 = -1
    var loopFailure: (any Error)?
    var loopOutcome: Result<Void, any Error>?
    var loopIsDirty = false
    var deadlineIndex = -1
    private var loopProgress = SendProgress()
    private var loopHead: ResponseHead?
    private var loopHasHead = false
    private var loopStatus = 0
    private var loopIsChunked = false
    /// Whether a paused body was allowed to go on because there is a response.
    private var loopWentOn = false
    private(set) var loopIsHTTP2 = false
    /// How often the request goes out.
    private(set) var loopResends: ResendState
    /// The local port of its connection, where that is of interest; else 0.
    var loopPort: Int32 = 0
    /// Whether HTTP/2 may be negotiated for it.
    var loopTrustsOrigin: Bool { loopPool?.trusts(request.origin) ?? true }
    private var loopBlock = BodyBlock()
    private var loopReceived: Int64 = 0
    private var loopSent: Int64 = 0
    /// Whether the request has just been sent, and nothing of its body has been read for it.
    private var loopBeginsBody = false
    private var loopExpected: Int64?

    init(_ request: CurlRequest, eventLoop: CurlEventLoop) {
      self.request = request
      self.eventLoop = eventLoop
      loopParser = ResponseHeadParser(url: request.url, mayUseHTTP2: request.mayUseHTTP2)
      loopResends = ResendState(isIdempotent: request.isIdempotent)
    }

    // MARK: - Consumer's side

    /// Starts the exchange and waits for the final head.
    func start() async throws -> ResponseHead {
      try await withTaskCancellationHandler {
        try await withUnsafeThrowingContinuation { continuation in
          if let result = queue.withLock({ $0.waitForHead(continuation) }) {
            continuation.resume(with: result)
          } else {
            eventLoop.submit(.start(self))
          }
        }
      } onCancel: {
        cancel()
      }
    }

    /// The next chunk, or `nil` at the end.
    func next() async throws -> Data? {
      try await withTaskCancellationHandler {
        try await withUnsafeThrowingContinuation { continuation in
          switch queue.withLock({ $0.next(continuation) }) {
          case .chunk(let chunk, let resumes):
            if resumes { eventLoop.submit(.resumeReceiving(self)) }
            continuation.resume(returning: chunk)
          case .failure(let error): continuation.resume(throwing: error)
          case .wait: break
          }
        }
      } onCancel: {
        cancel()
      }
    }

    /// Whether the consumer has left, or everything has been delivered.
    var isOver: Bool { queue.withLock { $0.isOver } }

    /// How long everything took, once the body has ended, if the request asked for it.
    var timings: NetworkTimings? { measured.withLock { $0 } }

    /// Ends the exchange: the waiting caller gets the error at once, the event loop closes the connection when it comes to it.
    func cancel() {
      guard let delivery = queue.withLock({ $0.cancel() }) else { return }
      eventLoop.submit(.cancel(self))
      delivery.resume()
    }

    // MARK: - Event loop's side

    /// When the transfer is to be ended if nothing happens, or looked at before.
    var loopDeadline: UInt64 {
      // A wait for a connection, a consumer that does not read, a body that is not ready are not the server's silence.
      guard loopHandle != nil, loopPauseBits == 0 else { return request.deadline }
      let idleEnd = loopLastActivity.addingClamped(request.idleTimeout)
      let nextLook = loopIsSending ? loopProgress.nextLook(after: loopLastActivity, idle: request.idleTimeout) : .max
      return min(idleEnd, nextLook, request.deadline)
    }

    private var loopIsSending: Bool { request.upload != nil && !loopHasHead }

    /// Looks whether the kernel goes on sending what libcurl has given it: that is no silence either.
    func loopLook(at now: UInt64) {
      guard loopIsSending, loopPauseBits == 0, let handle = loopHandle else { return }
      if loopProgress.hasMoved(handle.output, since: loopLastActivity, at: now) { loopLastActivity = now }
    }

    /// Whether nothing of the transfer is to be read from its socket, which is its own.
    var loopIsHeldBack: Bool { loopPauseBits & Int(EKN_PAUSE_RECV) != 0 && !loopIsHTTP2 }

    func loopReceivedHead(_ head: RawHead) {
      loopIsHTTP2 = head.isHTTP2
      let head = ResponseHead(head)
      loopExpected = head.contentLength
      if request.upload != nil {
        loopStatus = head.statusCode ?? 0
        loopIsChunked = head.value("transfer-encoding") != nil
      }
      loopHead = head
      loopHasHead = true
    }

    /// Takes body bytes. `true` when a block is full and must be delivered before the next bytes come.
    func loopReceivedBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
      loopReceived += Int64(bytes.count)
      request.onReceive?(loopReceived, loopExpected)
      loopBlock.append(bytes, outstanding: (loopExpected ?? 0) - loopReceived)
      return loopBlock.isFull
    }

    func loopSent(_ count: Int) {
      loopSent += Int64(count)
      request.onSend?(loopSent, request.upload?.length)
    }

    /// Whether the whole response is there, and the request is not (RFC 9113 §8.1). libcurl would go on trying to send, in
    /// a loop, although the server has closed the stream.
    var loopHasEarlyResponse: Bool {
      guard loopIsHTTP2, loopHandle != nil, loopOutcome == nil, let upload = request.upload else { return false }
      return loopSent < upload.length ?? .max && loopReceived == loopExpected
    }

    /// Whether the body has nothing to send, and its socket is not known.
    var loopIsAwaitingBody: Bool { loopPauseBits & Int(EKN_PAUSE_SEND) != 0 && loopPausedSocket < 0 }

    /// What becomes of a transfer whose body has nothing to send when something comes from the server.
    enum PausedBodyAction: Equatable {
      case wait
      /// libcurl stops sending the body by itself, as soon as it is not paused.
      case goOn
      /// It is over, with this code of libcurl's.
      case end(Int)
    }

    /// - Parameter isAtEnd: Whether the server has closed its side of the connection.
    func loopHeardWhilePaused(isAtEnd: () -> Bool) -> PausedBodyAction {
      if loopHasHead, loopStatus >= 300, !loopWentOn {
        loopWentOn = true
        return .goOn
      }
      guard isAtEnd() else { return .wait }
      guard loopHasHead else { return .end(CurlError.emptyReply) }
      // RFC 9112 §6.3: without a length and a coding the end of the connection is that of the body.
      let isComplete = loopExpected.map { $0 == loopReceived } ?? !loopIsChunked
      return .end(isComplete ? 0 : CurlError.partialBody)
    }

    /// The body is going to be sent from its start again: the connection was a stale one.
    func loopRewound() { loopSent = 0 }

    /// Whether the body can be read from where it has to be. libcurl may send a request again and go on with its body where
    /// the first attempt has stopped: the server would take the rest for the whole.
    func loopIsAtBodyStart(_ upload: any UploadSource) -> Bool {
      guard loopBeginsBody else { return true }
      loopBeginsBody = false
      guard loopSent > 0 else { return true }
      guard upload.rewind() else {
        loopFailure = refusalError
        return false
      }
      loopRewound()
      return true
    }

    /// Whether the request may go out now, which libcurl is about to send.
    func loopSends(wasRefused: Bool) -> Bool {
      guard loopResends.sends(wasRefused: wasRefused, hasResponse: loopHasHead) else { return false }
      loopBeginsBody = true
      return true
    }

    /// The request must not go out over the connection that libcurl has chosen for it.
    func loopMisplaced() { loopResends.misplaced() }

    private var refusalError: any Error {
      CurlError.make(
        .networkConnectionLost, "The server refused the request, and its body cannot be sent again", url: request.url)
    }

    private var loopStopError: (any Error)? {
      // libcurl would send the request again by itself after 417; whether that is done is not its business.
      if loopHasHead { return nil }
      return CurlError.make(
        .networkConnectionLost,
        "The server closed the connection without a response; the \(request.method) request is not sent again, "
          + "because it may have been acted upon", url: request.url)
    }

    /// Whether the transfer is to be sent again, for the connection that it met was just being closed, or was not meant for it.
    func loopMayResend(after code: Int) -> Bool {
      guard code != 0, let handle = loopHandle else { return false }
      let ending = ResendState.Ending(
        code: code, wasRefused: handle.wasRefused, hasReusedConnection: handle.hasReusedConnection,
        isFinal: loopFailure != nil || !loopParser.isEmpty)
      switch loopResends.ended(ending) {
      case .end: return false
      case .send: return true
      case .resend: break
      }
      guard request.upload?.rewind() ?? true else {
        if ending.wasRefused { loopFailure = refusalError }
        return false
      }
      loopSent = 0
      loopPauseBits = 0
      return true
    }

    /// What the transfer's end means to its consumer; `nil` for success.
    func loopError(code: Int) -> (any Error)? {
      if let loopFailure { return loopFailure }
      if loopResends.isStopped || loopHandle?.wasStopped == true { return loopStopError }
      if code == 0 {
        guard !loopHasHead else { return nil }
        return CurlError.make(
          .badServerResponse, "The server closed before its response head was complete", url: request.url)
      }
      guard let failure = loopHandle?.failure(code: code) else { return URLError(.unknown) }
      return CurlError.urlError(failure, url: request.url)
    }

    /// The transfer has ended, and its handle still knows how.
    func loopMeasure() {
      guard request.wantsTimings, var timings = loopHandle?.timings else { return }
      let wait = Duration.nanoseconds(Int64(clamping: loopBegun - min(loopSubmitted, loopBegun)))
      timings.firstByte? += wait
      timings.total += wait
      measured.withLock { $0 = timings }
    }

    /// Hands everything that has gathered to the consumer. The continuations are resumed by the event loop once it is
    /// done with libcurl.
    func loopDeliver() -> Queue.Delivery {
      let memory = loopBlock.memory
      let chunk = loopBlock.takeData()
      let head = loopHead
      let outcome = loopOutcome
      loopHead = nil
      return queue.withLock { $0.deliver(head: head, chunk: chunk, memory: memory, outcome: outcome) }
    }
  }

  extension ResponseQueue.Delivery
  where HeadWaiter == UnsafeContinuation<ResponseHead, any Error>, ChunkWaiter == UnsafeContinuation<Data?, any Error> {
    /// Wakes the waiting caller. Never called under a lock.
    func resume() {
      if let head { head.waiter.resume(with: head.result) }
      if let chunk { chunk.waiter.resume(with: chunk.result) }
    }
  }
#endif
