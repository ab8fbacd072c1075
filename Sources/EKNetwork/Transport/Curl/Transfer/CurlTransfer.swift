#if os(Linux)
  import CCurl
  import Foundation
  import FoundationNetworking

  /// One exchange on the wire, shared by the event loop, which writes, and a consumer, which reads.
  ///
  /// Unchecked: `request` is immutable; members named `loop…`, except `loopLoan`, belong to the thread that holds the
  /// turn of the event loop running the transfer; the rest is in `queue`, which has a lock.
  final class CurlTransfer: DeadlineHeapElement, @unchecked Sendable {
    typealias Queue = ResponseQueue<
      UnsafeContinuation<ResponseHead, any Error>, UnsafeContinuation<Data?, any Error>
    >

    let request: CurlRequest
    /// The event loop in whose queue it is. Another one may run it.
    let eventLoop: CurlEventLoop
    private let queue = Locked(Queue())
    private let measured = Locked<NetworkTimings?>(nil)

    /// The loan, while another loop runs it. Only accessed in the turns of `eventLoop`.
    var loopLoan: CurlEventLoop.Loan?

    // State of the loop that runs it, only accessed in that loop's turns.
    /// Set from submission to the end.
    var loopPool: CurlPool?
    var loopTicket: RequestQueue<CurlTransfer>.Ticket?
    /// Set while it is in progress.
    var loopHandle: CurlHandle?
    var loopConnection: (any LoopExchange)?
    /// Whether it is in progress.
    var loopIsRunning: Bool { loopHandle != nil || loopConnection != nil }
    /// When it was submitted, and when it was passed to libcurl.
    var loopSubmitted: UInt64 = 0
    var loopBegun: UInt64 = 0
    var loopParser: ResponseHeadParser
    var loopLastActivity: UInt64 = 0
    var loopPauseBits = 0
    /// Its socket, while the body has nothing to send and ``CurlPool`` watches the socket; otherwise -1.
    var loopPausedSocket: Int32 = -1
    var loopFailure: (any Error)?
    var loopOutcome: Result<Void, any Error>?
    var loopIsDirty = false
    var deadlineIndex = -1
    private var loopProgress = SendProgress()
    private var loopHead: ResponseHead?
    private var loopHasHead = false
    private(set) var loopIsHTTP2 = false
    /// Keeps track of how often the request is sent.
    private(set) var loopResends: ResendState
    /// The socket of the connection that it may share; only known where that is needed.
    var loopSharedSocket: Int32?
    /// Whether HTTP/2 may be negotiated for it.
    var loopTrustsOrigin: Bool { loopPool?.trusts(request.origin) ?? true }
    private var loopBlock = BodyBlock()
    private var loopReceived: Int64 = 0
    private var loopReportsBody = false
    private var loopUpload: UploadBodyState
    /// Whether the request has just been sent, and none of its body has been read for it.
    private var loopBeginsBody = false
    private var loopExpected: Int64?
    /// The length of the body of a response over TLS and HTTP/1.1, if it ends there; otherwise -1.
    private var loopSecureLength: Int64 = -1
    /// Whether the end of the connection is the end of the body of a response over TLS.
    private(set) var loopEndsWithConnection = false
    /// Whether bytes that belong to no response follow the response, which is complete.
    var loopHasSurplus = false

    init(_ request: CurlRequest, eventLoop: CurlEventLoop) {
      self.request = request
      self.eventLoop = eventLoop
      loopParser = ResponseHeadParser(
        url: request.url, method: request.method, mayUseHTTP2: request.mayUseHTTP2)
      loopResends = ResendState(isIdempotent: request.isIdempotent)
      loopUpload = UploadBodyState(length: request.upload?.length)
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

    /// Returns the next chunk, or `nil` at the end.
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

    /// The timings of the exchange, once the body has ended, if the request asked for them.
    var timings: NetworkTimings? { measured.withLock { $0 } }

    /// Ends the exchange: the waiting caller gets the error immediately, and the event loop closes the connection in
    /// its next turn.
    func cancel() {
      guard let delivery = queue.withLock({ $0.cancel() }) else { return }
      eventLoop.submit(.cancel(self))
      delivery.resume()
    }

    // MARK: - Event loop's side

    /// The time at which the transfer times out if nothing happens, or has to be checked before.
    var loopDeadline: UInt64 {
      // Waiting for a connection, for a consumer that does not read, or for a body that is not ready does not count as
      // idle time.
      guard loopIsRunning, loopPauseBits == 0 else { return request.deadline }
      let idleEnd = loopLastActivity.addingClamped(request.idleTimeout)
      let nextCheck = loopIsSending ? loopProgress.nextCheck(after: loopLastActivity, idle: request.idleTimeout) : .max
      return min(idleEnd, nextCheck, request.deadline)
    }

    private var loopIsSending: Bool { request.upload != nil && !loopHasHead }

    /// Checks whether the kernel is still sending what libcurl has given it, which counts as activity.
    func loopCheckProgress(at now: UInt64) {
      guard loopIsSending, loopPauseBits == 0, let output = loopConnection?.kernelOutput ?? loopHandle?.output
      else { return }
      if loopProgress.hasMoved(output, since: loopLastActivity, at: now) { loopLastActivity = now }
    }

    /// Whether nothing must be read from the transfer's socket, which no other transfer uses.
    var loopIsHeldBack: Bool { loopPauseBits & Int(EKN_PAUSE_RECV) != 0 && !loopIsHTTP2 }

    /// Limits what is kept for a consumer that does not read.
    func loopLimitBuffer(to size: Int) { queue.withLock { $0.highWater = size } }

    func loopReceivedHead(_ head: RawHead) {
      loopIsHTTP2 = head.isHTTP2
      // RFC 9112 §7: identity, which older servers send, is none.
      let isChunked = ResponseHeadRules.transferCodings(of: head).contains { !$0.isFieldName("identity") }
      let head = ResponseHead(head)
      loopExpected = head.contentLength
      if request.upload != nil {
        loopUpload.responded(
          status: head.statusCode ?? 0, length: head.contentLength, isChunked: isChunked)
      }
      // RFC 9112 §6.3: a transfer coding takes precedence over a length.
      if request.isSecure, !loopIsHTTP2, !isChunked {
        loopSecureLength = loopExpected ?? -1
        loopEndsWithConnection = loopExpected == nil && head.hasBody(method: request.method)
      }
      loopReportsBody = request.onReceive != nil && head.isSuccess
      loopHead = head
      loopHasHead = true
    }

    /// Whether the last byte of a body over TLS and HTTP/1.1 has been received.
    var loopEndsSecureBody: Bool { loopReceived == loopSecureLength }

    /// Takes body bytes. Returns `true` if a block is full and must be delivered before more bytes arrive.
    func loopReceivedBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
      loopReceived += Int64(bytes.count)
      if loopReportsBody { request.onReceive?(loopReceived, loopExpected) }
      loopBlock.append(bytes, outstanding: (loopExpected ?? 0) - loopReceived)
      return loopBlock.isFull
    }

    /// The number of bytes of the body that were read for the request.
    var loopBodyCount: Int64 { loopUpload.readCount }

    func loopReadBody(_ count: Int) {
      loopUpload.read(count)
      request.onSend?(loopUpload.readCount, request.upload?.length)
    }

    /// Notes that the whole body has been read.
    func loopEndedBody() { loopUpload.ended() }

    /// Whether the whole response was received before the request was sent (RFC 9113 §8.1). libcurl would keep trying
    /// to send, in a loop, although the server has closed the stream.
    var loopHasEarlyResponse: Bool {
      guard loopIsHTTP2, let handle = loopHandle, loopOutcome == nil, request.upload != nil else { return false }
      return loopUpload.isEarly(received: loopReceived, sent: handle.sentBodyBytes)
    }

    /// Whether libcurl may have taken a reset for the end of the response.
    private var loopMayHaveBeenReset: Bool {
      guard loopIsHTTP2, request.upload != nil, let handle = loopHandle, handle.capabilities.completesResetUploads
      else { return false }
      return loopUpload.mayHaveBeenReset(received: loopReceived, sent: handle.sentBodyBytes)
    }

    /// Whether the body has nothing to send, and its socket is not known.
    var loopIsAwaitingBody: Bool { loopPauseBits & Int(EKN_PAUSE_SEND) != 0 && loopPausedSocket < 0 }

    func loopInputWhilePaused(_ input: () -> ekn_socket_input) -> UploadBodyState.PausedBodyAction {
      loopUpload.inputWhilePaused(received: loopReceived, input: input)
    }

    /// The body will be sent again from its start, because the connection was stale.
    func loopRewound() { loopUpload.rewound() }

    /// Returns whether the body can be read from the right position. libcurl may send a request again and continue its
    /// body where the first attempt stopped: the server would take the rest for the whole.
    func loopIsAtBodyStart(_ upload: any UploadSource) -> Bool {
      guard loopBeginsBody else { return true }
      loopBeginsBody = false
      guard loopUpload.readCount > 0 else { return true }
      guard upload.rewind() else {
        loopFailure = refusalError
        return false
      }
      loopRewound()
      return true
    }

    /// Returns whether the request, which libcurl is about to send, may be sent.
    func loopSends(wasRefused: Bool) -> Bool {
      guard loopResends.sends(wasRefused: wasRefused, hasResponse: loopHasHead) else { return false }
      loopBeginsBody = true
      return true
    }

    /// Notes that the request must not be sent over the connection that libcurl has chosen for it.
    func loopMisplaced() { loopResends.misplaced() }

    private var refusalError: any Error {
      CurlError.make(
        .networkConnectionLost, "The server refused the request, and its body cannot be sent again", url: request.url)
    }

    var loopStopError: (any Error)? {
      // libcurl would send the request again by itself after 417, which is not for libcurl to decide.
      if loopHasHead { return nil }
      return CurlError.make(
        .networkConnectionLost,
        "The server closed the connection without a response; the \(request.method) request is not sent again, "
          + "because the server may have processed it", url: request.url)
    }

    /// Returns whether the transfer has to be sent again, because its connection was just being closed, or was not
    /// meant for it.
    func loopMayResend(after code: Int) -> Bool {
      guard code != 0, let handle = loopHandle else { return false }
      let ending = ResendState.Ending(
        code: code, wasRefused: handle.wasRefused, hasReusedConnection: handle.hasReusedConnection,
        isFinal: loopFailure != nil || !loopParser.isEmpty)
      return loopMayResend(ending)
    }

    func loopMayResend(_ ending: ResendState.Ending) -> Bool {
      switch loopResends.ended(ending) {
      case .end: return false
      case .send: return true
      case .resend: break
      }
      guard request.upload?.rewind() ?? true else {
        if ending.wasRefused { loopFailure = refusalError }
        return false
      }
      loopRewound()
      loopPauseBits = 0
      return true
    }

    /// Returns the error with which the transfer ends for its consumer, or `nil` for success.
    func loopError(code: Int) -> (any Error)? {
      if let loopFailure { return loopFailure }
      if loopHasSurplus { return nil }
      if loopResends.isStopped || loopHandle?.wasStopped == true { return loopStopError }
      if code == 0 {
        guard loopHandle?.lacksEnd != true else {
          return CurlError.make(
            .networkConnectionLost, "The connection ended, but not in TLS: the body may be incomplete", url: request.url
          )
        }
        guard !loopMayHaveBeenReset else {
          return CurlError.make(
            .networkConnectionLost, "The server ended the stream before it had read the request", url: request.url)
        }
        guard !loopHasHead else { return nil }
        return CurlError.make(
          .badServerResponse, "The server closed before its response head was complete", url: request.url)
      }
      guard let failure = loopHandle?.failure(code: code) else { return URLError(.unknown) }
      return CurlError.urlError(failure, url: request.url)
    }

    /// Records the timings of a transfer that has ended, while its handle still has them.
    func loopMeasure() {
      guard request.wantsTimings, var timings = loopConnection?.timings(of: self) ?? loopHandle?.timings else { return }
      let wait = Duration.nanoseconds(Int64(clamping: loopBegun - min(loopSubmitted, loopBegun)))
      timings.firstByte? += wait
      timings.total += wait
      measured.withLock { $0 = timings }
    }

    /// Hands everything that has gathered to the consumer. The event loop resumes the continuations once it has
    /// returned from libcurl.
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
    /// Resumes the waiting caller. Never called under a lock.
    func resume() {
      if let head { head.waiter.resume(with: head.result) }
      if let chunk { chunk.waiter.resume(with: chunk.result) }
    }
  }
#endif
