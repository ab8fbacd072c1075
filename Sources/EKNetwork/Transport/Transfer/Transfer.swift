#if os(Linux)
  import CCurl
  import Foundation
  import FoundationNetworking

  /// One exchange on the wire, shared by the event loop, which writes, and a consumer, which reads.
  ///
  /// Unchecked: `request` is immutable; members named `loop…` belong to the thread that holds the turn of the event
  /// loop; the rest is in `queue`, which has a lock.
  final class Transfer: DeadlineHeapElement, @unchecked Sendable {
    typealias Queue = ResponseQueue<
      UnsafeContinuation<ResponseHead, any Error>, UnsafeContinuation<Data?, any Error>
    >

    /// Why nothing moves in a direction.
    struct Pauses: OptionSet {
      let rawValue: Int
      /// The consumer does not read.
      static let receiving = Pauses(rawValue: 1)
      /// The body has nothing to send for now.
      static let sending = Pauses(rawValue: 2)
    }

    let request: PreparedRequest
    let eventLoop: EventLoop
    private let queue = Locked(Queue())
    private let ending = Locked<ResponseEnd?>(nil)

    // State of the loop, only accessed in its turns.
    /// Set from submission to the end.
    var loopPool: ConnectionPool?
    var loopTicket: RequestQueue<Transfer>.Ticket?
    /// Set while it is in progress.
    var loopConnection: (any LoopExchange)?
    var loopIsRunning: Bool { loopConnection != nil }
    /// When it was submitted, and when it was begun.
    var loopSubmitted: UInt64 = 0
    var loopBegun: UInt64 = 0
    var loopLastActivity: UInt64 = 0
    var loopPauses: Pauses = []
    var loopFailure: (any Error)?
    var loopOutcome: Result<Void, any Error>?
    var loopIsDirty = false
    var deadlineIndex = -1
    private var loopProgress = SendProgress()
    private var loopHead: ResponseHead?
    private var loopIsRefused = false
    /// Keeps track of how often the request is sent.
    private(set) var loopResends: ResendState
    private var loopBlock = BodyBlock()
    private var loopPace = DeliveryPace()
    /// When the consumer reads the body from the wire itself.
    var loopDirectReads: DirectWait
    /// Whether it does so in this turn.
    var loopIsReadDirectly = false
    /// When it was left to the consumer.
    private var loopHeldSince: UInt64 = 0
    private(set) var loopReceived: Int64 = 0
    private var loopReportsBody = false
    /// The number of bytes of the body that were read for the request.
    private(set) var loopBodyCount: Int64 = 0
    private var loopExpected: Int64?

    init(_ request: PreparedRequest, eventLoop: EventLoop) {
      self.request = request
      self.eventLoop = eventLoop
      loopResends = ResendState(isIdempotent: request.isIdempotent)
      loopDirectReads = eventLoop.directWait
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

    /// Opens a connection that the request could be sent over, unless there is one. Nothing is sent.
    func connect() async throws {
      do { _ = try await start() } catch is IsConnected {}
    }

    /// The end of a transfer that gets no response.
    struct IsConnected: Error {}

    /// Returns the next chunk, or `nil` at the end.
    func next() async throws -> Data? {
      // Most small bodies have arrived with their head: then nothing needs to be prepared for waiting.
      if !Task.isCancelled, let pull = queue.withLock({ $0.available() }) { return try pulled(pull) }
      return try await withTaskCancellationHandler {
        try await withUnsafeThrowingContinuation { continuation in
          let (pull, reads) = queue.withLock { ($0.next(continuation), $0.takeHold()) }
          if reads { eventLoop.receiveDirectly(self) }
          guard let pull else { return }
          continuation.resume(with: Result { try pulled(pull) })
        }
      } onCancel: {
        cancel()
      }
    }

    private func pulled(_ pull: Queue.Pull) throws -> Data? {
      switch pull {
      case .chunk(let chunk, let resumes):
        if resumes { eventLoop.submit(.resumeReceiving(self)) }
        return chunk
      case .failure(let error): throw error
      }
    }

    /// Whether the consumer has left, or everything has been delivered.
    var isOver: Bool { queue.withLock { $0.isOver } }

    /// What became known when the body has ended.
    var end: ResponseEnd? { ending.withLock { $0 } }

    /// Ends the exchange: the waiting caller gets the error immediately, and the event loop closes the connection in
    /// its next turn.
    func cancel() { leave(keepsChunks: false) }

    /// Ends the exchange as ``cancel()`` does, but what has arrived can still be read.
    func stopReceiving() { leave(keepsChunks: true) }

    private func leave(keepsChunks: Bool) {
      guard let delivery = queue.withLock({ $0.cancel(keepsChunks: keepsChunks) }) else { return }
      eventLoop.submit(.cancel(self))
      delivery.resume()
    }

    // MARK: - Event loop's side

    /// The time at which the transfer times out if nothing happens, or has to be checked before.
    var loopDeadline: UInt64 {
      // Waiting for a connection, for a consumer that does not read, or for a body that is not ready does not count as
      // idle time. A server that has refused the request does not wait for the body.
      let pauses = loopIsRefused ? loopPauses.subtracting(.sending) : loopPauses
      guard loopIsRunning, pauses.isEmpty else { return request.deadline }
      let idleEnd = loopLastActivity.addingClamped(request.idleTimeout)
      let nextCheck = loopIsSending ? loopProgress.nextCheck(after: loopLastActivity, idle: request.idleTimeout) : .max
      return min(idleEnd, nextCheck, request.deadline)
    }

    /// Whether the body may be on its way. The head of a response does not end it, unless it refuses the request.
    private var loopIsSending: Bool { request.upload != nil && !loopIsRefused }

    /// Checks whether the kernel is still sending what it was given, which counts as activity.
    func loopCheckProgress(at now: UInt64) {
      guard loopIsSending, loopPauses.isEmpty, let connection = loopConnection?.carrier else { return }
      let hasMoved = loopProgress.hasMoved(
        connection.kernelOutput, unsent: connection.unsentCount, read: loopBodyCount, at: now)
      if hasMoved { loopLastActivity = now }
    }

    /// Whether nothing may be received: as much is kept as may be for a consumer that does not read, or it will do that itself.
    var loopMustPause: Bool { queue.withLock { $0.isPaused || $0.isHeld } }

    /// Lets the loop's thread receive again, instead of the consumer.
    func loopReleaseHold() { queue.withLock { $0.releaseHold() } }

    /// Limits what is kept for a consumer that does not read.
    func loopLimitBuffer(to size: Int) { queue.withLock { $0.highWater = size } }

    func loopReceivedHead(_ head: RawHead) {
      let isRefused = head.statusCode >= 300
      let head = ResponseHead(head)
      loopExpected = head.contentLength
      loopReportsBody = request.onReceive?.observes(head) == true
      loopHead = head
      loopIsRefused = isRefused
      guard isRefused, loopPauses.contains(.sending) else { return }
      loopLastActivity = eventLoop.now
      eventLoop.renewDeadline(of: self)
    }

    /// Takes body bytes. Returns `true` if a block is full and must be delivered before more bytes arrive.
    func loopReceivedBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
      loopCountBody(bytes.count)
      loopBlock.append(bytes, outstanding: (loopExpected ?? 0) - loopReceived)
      return loopBlock.isFull
    }

    /// Receives body bytes without copying them. Returns the space that there was for them as well.
    func loopReceiveBody(
      upTo limit: Int, from connection: ConnectionBytes
    ) -> (progress: ConnectionBytes.Progress, space: Int) {
      let result = loopBlock.receive(upTo: limit) { space in
        let progress = connection.receive(into: space)
        if case .moved(let count) = progress { return (count, (progress: progress, space: space.count)) }
        return (0, (progress, space.count))
      }
      if case .moved(let count) = result.progress { loopCountBody(count) }
      return result
    }

    /// Whether part of the body has not been delivered.
    var loopHasBody: Bool { loopBlock.count > 0 }

    /// Whether a block must be delivered before more bytes arrive.
    var loopHasFullBlock: Bool { loopBlock.isFull }

    private func loopCountBody(_ count: Int) {
      loopReceived += Int64(count)
      if loopReportsBody { request.onReceive?.report(loopReceived, loopExpected) }
    }

    func loopReadBody(_ count: Int) {
      loopBodyCount += Int64(count)
      request.onSend?(loopBodyCount, request.upload?.length)
    }

    /// Returns whether the transfer has to be sent again, and rewinds its body for that.
    func loopMayResend(_ ending: ResendState.Ending, at time: UInt64) -> Bool {
      guard loopResends.resends(after: ending, at: time) else { return false }
      guard request.upload?.rewind() ?? true else {
        if ending.wasRefused {
          loopFailure = URLError(
            .networkConnectionLost, url: request.url,
            description: "The server refused the request, and its body cannot be sent again")
        }
        return false
      }
      return true
    }

    /// Prepares the transfer for being sent from its start.
    func loopRestart() {
      loopBodyCount = 0
      loopProgress = SendProgress()
      loopPauses = []
    }

    /// Records what is known of a transfer that is about to end.
    ///
    /// - Parameter trailers: The response's trailer section.
    func loopNoteEnd(trailers: RawHead? = nil) {
      guard request.wantsTimings || trailers != nil else { return }
      let timings = request.wantsTimings ? loopTimings : nil
      let end = ResponseEnd(timings: timings, trailers: HeaderFieldList(trailers?.fields ?? []))
      ending.withLock { $0 = end }
    }

    private var loopTimings: NetworkTimings? {
      guard var timings = loopConnection?.timings(of: self) else { return nil }
      let wait = Duration.nanoseconds(Int64(clamping: loopBegun - min(loopSubmitted, loopBegun)))
      timings.firstByte? += wait
      timings.total += wait
      return timings
    }

    /// Until when what has gathered waits for more; `nil` if it is to be handed over now.
    func loopWait(at now: UInt64) -> UInt64? {
      loopOutcome == nil && loopHead == nil && !loopIsReadDirectly ? loopPace.wait(with: loopBlock.count, at: now) : nil
    }

    /// Whether the consumer that reads on now does so soon after it was given the last bytes.
    var loopConsumerIsPrompt: Bool {
      eventLoop.now - min(loopHeldSince, eventLoop.now) <= loopDirectReads.promising
    }

    /// Hands everything that has gathered to the consumer. The event loop resumes the continuations at the end of its turn.
    ///
    /// - Parameter holds: Whether the consumer, if it has waited, reads on itself.
    func loopDeliver(holds: Bool) -> Queue.Delivery {
      let memory = loopBlock.memory
      if loopBlock.count > 0 { loopPace.delivered(loopBlock.count, at: eventLoop.now) }
      if holds { loopHeldSince = eventLoop.now }
      let chunk = loopBlock.takeData()
      let head = loopHead
      let outcome = loopOutcome
      loopHead = nil
      return queue.withLock { $0.deliver(head: head, chunk: chunk, memory: memory, outcome: outcome, holds: holds) }
    }
  }

  /// The consumer's end of a transfer. Releasing its last reference ends the exchange.
  final class TransferBody: TransportBody {
    private let transfer: Transfer

    init(_ transfer: Transfer) { self.transfer = transfer }

    deinit { transfer.cancel() }

    var end: ResponseEnd? { transfer.end }

    func next() async throws -> Data? { try await transfer.next() }

    func cancel() { transfer.cancel() }

    func stopReceiving() { transfer.stopReceiving() }
  }

  /// The state that decides whether the request of a transfer is sent again, over another connection.
  ///
  /// It is sent a second time only where that is safe (RFC 9110 §9.2.2), or where the server has stated that it has not
  /// processed the first (RFC 9113 §8.7), a third time only if it has stated that of the second, and never once there is a response.
  struct ResendState {
    /// The way in which a transfer ended.
    struct Ending {
      /// libcurl's result code, or the corresponding one.
      var code: Int
      /// Whether the server has stated that it has not processed the request.
      var wasRefused = false
      /// Whether it may be sent over the same connection later, or another one that is used already (RFC 9113 §8.7).
      var keepsConnection = false
      var hasReusedConnection = false
      /// Whether part of a response was received, or there is another reason to fail.
      var isFinal = false

      /// The server has closed a reused connection without a response to the request.
      static let staleConnection = Ending(code: CurlError.emptyReply, hasReusedConnection: true)
    }

    private let isIdempotent: Bool
    /// Whether a second attempt has begun.
    private(set) var hasResent = false
    /// When the connection that it uses has to be opened at the earliest: older ones may have been lost in the same way. 0
    /// for any time, `.max` for a connection that is opened for it alone.
    private(set) var connectionSince: UInt64 = 0

    init(isIdempotent: Bool) { self.isIdempotent = isIdempotent }

    /// Returns whether the request, whose exchange has ended at this time, is sent again.
    mutating func resends(after ending: Ending, at time: UInt64) -> Bool {
      guard CurlError.connectionLosses.contains(ending.code), !ending.isFinal,
        ending.wasRefused || isIdempotent && (ending.hasReusedConnection || ending.code == CurlError.framingLoss)
      else { return false }
      guard hasResent else {
        hasResent = true
        connectionSince = ending.keepsConnection ? 0 : time
        return true
      }
      // The server may have taken few of those that share the new connection (RFC 9113 §6.8). On another it is the first.
      let hasShared = connectionSince > 0 && connectionSince < .max
      guard hasShared, ending.wasRefused, !ending.keepsConnection else { return false }
      connectionSince = .max
      return true
    }
  }

  /// Detects whether an upload makes progress while its body is not read: the kernel may still have megabytes of it to
  /// send, which can take a slow network longer than a server may be idle.
  ///
  /// A value type, updated eight times in each idle time with what the kernel still has to send. A timeout is late by
  /// one such interval at most.
  struct SendProgress {
    private static var checksPerTimeout: UInt64 { 8 }

    private var lastCheck: UInt64 = 0
    private var last: ekn_socket_output?
    private var lastRead: Int64 = 0
    /// The number of confirmed bytes once all of the body that has been read has arrived. What follows on a shared
    /// connection belongs to others.
    private var end: UInt64 = 0

    /// Returns when to check again.
    func nextCheck(after activity: UInt64, idle: UInt64) -> UInt64 {
      return max(activity, lastCheck).addingClamped(max(1, idle / Self.checksPerTimeout))
    }

    /// Takes the state of the connection in the kernel. Returns `true` if bytes of the body were sent since the last
    /// check; the first check cannot tell, and returns `true` if any bytes are queued.
    ///
    /// - Parameters:
    ///   - unsent: The number of bytes that the connection has not passed to the kernel.
    ///   - read: The number of bytes of the body that were read.
    mutating func hasMoved(_ output: ekn_socket_output, unsent: Int, read: Int64, at time: UInt64) -> Bool {
      defer {
        last = output
        lastRead = read
        lastCheck = time
      }
      if last == nil || read != lastRead {
        end = output.confirmed &+ output.queued &+ Self.sizeOnWire(of: UInt64(max(0, unsent)))
      }
      guard let last else { return output.queued > 0 }
      guard output.confirmed > 0 else { return output.queued < last.queued }
      return output.confirmed > last.confirmed && last.confirmed < end
    }

    /// Returns how many bytes may become of those that have not been sent: TLS, also that of a proxy around it, adds less
    /// than 1/64 to large records and less than 256 bytes to a small one (RFC 8446 §5.2, RFC 5246 §6.2.3.2).
    private static func sizeOnWire(of count: UInt64) -> UInt64 { count == 0 ? 0 : count + count / 64 + 256 }
  }
#endif
