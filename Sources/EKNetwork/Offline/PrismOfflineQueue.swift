import Foundation

/// A queue that keeps requests until they can be sent: in memory, or in a folder, where they survive the end of the
/// process at any moment.
///
/// ```swift
/// let queue = try PrismOfflineQueue(directory: folder, delivery: .manager(manager))
/// try await queue.enqueue(request)
/// ```
///
/// A request leaves the queue only when it has been delivered or never can be: any other that fails stays and is tried
/// again. That is delivery *at least once*. A request whose response was lost, or during which the process ended, is
/// sent again, with the same `Idempotency-Key` (the request's own, or its ``PrismQueuedRequest/id``), by which the
/// server can recognise it.
///
/// Requests with a higher priority are sent first, and those with the same priority in the order of arrival: one that
/// cannot be delivered yet blocks those behind it.
public actor PrismOfflineQueue {
  let options: PrismOfflineQueueOptions
  let delivery: PrismQueueDelivery
  let autoFlush: Bool
  let store: OfflineStore?
  nonisolated let flights = SharedFlights<Int>()
  private var delivering: EnclosingWork?
  private var turns: [CheckedContinuation<Void, Never>] = []
  var state: OfflineQueueState
  var flushing: OfflineFlushState
  var waiting: Task<Void, Never>?
  var watching: Task<Void, Never>?

  /// Files in the folder that are not valid requests, that cannot be opened, that another user has written or may write to,
  /// or that are larger than 64 MiB and ``PrismOfflineQueueOptions/maximumBytes``. They are kept for inspection, and never
  /// sent by this queue.
  public nonisolated let damagedFiles: [URL]

  /// Creates a queue in memory.
  ///
  /// - Parameters:
  ///   - autoFlush: Whether a new request is sent at once, and after a failure again when the backoff is over. Defaults
  ///     to `false`: ``flush()`` sends the waiting requests.
  ///   - flushHandler: Sends requests, those with the highest priority first. They leave the queue when it returns; if
  ///     it throws, all of them stay. Defaults to `nil`: they are removed with ``dequeueAll()``.
  public init(
    autoFlush: Bool = false, flushHandler: sending (([PrismQueuedRequest]) async throws -> Void)? = nil
  ) {
    self.init(
      store: nil, loaded: OfflineStore.Loaded(), autoFlush: autoFlush, options: PrismOfflineQueueOptions(),
      delivery: Self.delivery(flushHandler))
  }

  /// Creates a queue in a folder, which contains the requests that an earlier queue has left there.
  ///
  /// - Parameters:
  ///   - directory: The folder, which is created if it does not exist, with files that only their owner can access. One
  ///     queue at a time may have it open.
  ///   - autoFlush: As for a queue in memory. Requests of an earlier queue are sent at once.
  ///   - options: Limits, backoff and the handling of requests that cannot be delivered.
  ///   - flushHandler: As for a queue in memory. ``PrismQueueDelivery/each(_:)`` does not send a delivered request
  ///     again because another one failed.
  /// - Throws: ``PrismOfflineQueueError``.
  public init(
    directory: URL, autoFlush: Bool = false, options: PrismOfflineQueueOptions = PrismOfflineQueueOptions(),
    flushHandler: sending (([PrismQueuedRequest]) async throws -> Void)? = nil
  ) throws {
    try self.init(directory: directory, delivery: Self.delivery(flushHandler), autoFlush: autoFlush, options: options)
  }

  /// Creates a queue that sends its requests in the given way.
  ///
  /// - Parameters:
  ///   - directory: The folder of the requests; `nil` to keep them in memory.
  ///   - delivery: How the requests are sent.
  ///   - autoFlush: Defaults to `true`.
  ///   - options: Limits, backoff and the handling of requests that cannot be delivered.
  /// - Throws: ``PrismOfflineQueueError``.
  public init(
    directory: URL?, delivery: PrismQueueDelivery, autoFlush: Bool = true,
    options: PrismOfflineQueueOptions = PrismOfflineQueueOptions()
  ) throws {
    let store = try directory.map { try OfflineStore($0, synchronizes: options.synchronizes) }
    let loaded = try directory.map { try OfflineStore.load($0, maximumBytes: options.maximumBytes) }
    self.init(
      store: store, loaded: loaded ?? OfflineStore.Loaded(), autoFlush: autoFlush, options: options, delivery: delivery)
  }

  private init(
    store: OfflineStore?, loaded: OfflineStore.Loaded, autoFlush: Bool, options: PrismOfflineQueueOptions,
    delivery: PrismQueueDelivery
  ) {
    self.store = store
    self.options = options
    self.delivery = delivery
    self.autoFlush = autoFlush
    damagedFiles = loaded.damaged
    flushing = OfflineFlushState(backoff: options.backoff)
    var state = OfflineQueueState(
      maximumCount: options.maximumCount, maximumBytes: options.maximumBytes,
      lastSequence: loaded.lastSequence)
    for entry in loaded.entries { state.append(entry) }
    self.state = state
    guard autoFlush else { return }
    // Detached, as all automatic flushes are.
    if let connectivity = options.connectivity {
      let isOffline = !connectivity.isConnected
      Task.detached { [weak self] in await self?.watch(connectivity, wasOffline: isOffline) }
    }
    if state.count > 0 { Task.detached { [weak self] in await self?.arrived() } }
  }

  deinit {
    waiting?.cancel()
    watching?.cancel()
  }

  private static func delivery(
    _ handler: sending (([PrismQueuedRequest]) async throws -> Void)?
  ) -> PrismQueueDelivery {
    guard let handler else { return PrismQueueDelivery(way: .none) }
    return PrismQueueDelivery(way: .batch(PrismQueueDelivery.Batch(send: handler)))
  }

  /// The number of waiting requests, including those that are being sent.
  public var count: Int { state.count }

  /// The number of waiting bytes.
  public var byteCount: Int64 { state.bytes }

  /// Keeps a request until it can be sent.
  ///
  /// A request that cannot be kept, because the queue is full or the folder cannot be written to, is passed to
  /// ``PrismOfflineQueueOptions/undelivered`` at once; ``enqueue(_:body:)`` throws instead.
  public func enqueue(_ request: PrismQueuedRequest) {
    do { try enqueue(request, body: .ofRequest) } catch {
      let undelivered = options.undelivered
      Task { await Self.report(request, error, to: undelivered) }
    }
  }

  /// Keeps a request. If the queue has a folder, the request will be sent even if the process ends as soon as this
  /// returns.
  ///
  /// - Parameters:
  ///   - request: The request. ``PrismOfflineQueueOptions/storesCredentials`` says what of it is not written to disk.
  ///   - body: The location of its body while it waits.
  /// - Throws: ``PrismOfflineQueueError``; the request is then not in the queue.
  public func enqueue(_ request: PrismQueuedRequest, body: PrismQueuedBody) throws {
    let entry = try keep(request, body)
    state.append(entry)
    arrived()
  }

  /// Keeps a request, as ``enqueue(_:body:)`` does.
  ///
  /// - Parameters:
  ///   - urlRequest: The request to send.
  ///   - priority: The priority. Requests with a higher priority are sent first. Defaults to 0.
  ///   - body: The location of its body while it waits. Defaults to ``PrismQueuedBody/ofRequest``.
  /// - Returns: The request with its ``PrismQueuedRequest/id``.
  /// - Throws: ``PrismOfflineQueueError``.
  @discardableResult
  public func enqueue(
    _ urlRequest: URLRequest, priority: Int = 0, body: PrismQueuedBody = .ofRequest
  ) throws -> PrismQueuedRequest {
    let request = PrismQueuedRequest(urlRequest: urlRequest, priority: priority)
    try enqueue(request, body: body)
    return request
  }

  /// Returns a request as an entry of the queue, after writing it to the folder if there is one.
  private func keep(_ request: PrismQueuedRequest, _ body: PrismQueuedBody) throws -> OfflineQueueEntry {
    guard request.urlRequest.url != nil else { throw PrismOfflineQueueError.noURL }
    let content = try OfflineContent(request, body, isDurable: store != nil)
    guard let store else {
      try state.check(bytes: content.size)
      return OfflineQueueEntry(sequence: state.takeSequence(), request: content.kept, bytes: content.size)
    }
    let stored = try StoredRequest(request, body: content.stored, storesCredentials: options.storesCredentials)
    let head = try OfflineStore.head(of: stored, bodyLength: content.data.count)
    let bytes = Int64(head.count).addingClamped(content.size)
    try state.check(bytes: bytes)
    let sequence = state.takeSequence()
    var kept = stored.request(retryCount: request.retryCount, data: content.data, file: content.file)
    if !content.copied.isEmpty { kept.bodyFile = try store.copy(content.copied, sequence: sequence) }
    do {
      try store.write(head, content.data, sequence: sequence, retryCount: request.retryCount)
    } catch {
      store.removeBody(sequence)
      throw error
    }
    return OfflineQueueEntry(sequence: sequence, request: kept, bytes: bytes)
  }

  /// Removes and returns all requests that are not being sent, those with the highest priority first. The queue keeps
  /// nothing of them. A body that was copied into the queue's folder is the `httpBodyStream` of its request; on Apple
  /// platforms, this library can send it, but Foundation's methods of `URLSession` cannot.
  public func dequeueAll() -> [PrismQueuedRequest] {
    let entries = state.takeAll()
    guard let store else { return entries.map(\.request) }
    return store.take(entries)
  }

  /// Sends all waiting requests, including those that come meanwhile. Concurrent calls share one flush.
  ///
  /// Returns at once to a caller that would wait for itself: a handler of the flush, or what it waits for, such as the
  /// token refresh of a delivery.
  ///
  /// - Throws: The error because of which the first request could not be delivered, which stays with all that are
  ///   behind it; `CancellationError` when the task is cancelled. The flush is cancelled only if no other task waits
  ///   for it.
  public func flush() async throws {
    do { try await flushAll() } catch let error as TokenError { throw error.cause }
  }

  /// Like ``flush()``, but an error of the token is still a `TokenError`: what its cause means for a request does not
  /// count, since none has failed with it.
  private func flushAll() async throws {
    repeat {
      // A handler that calls `flush()` is part of the flush that it would wait for.
      guard !flights.isEnclosing else { return }
      do { try await flights.join(0) { try await self.deliverInTurn() } } catch is EnclosingWork.SelfWaitError {
        return
      }
      // Requests that came after the joined flush had last looked for them are sent as well.
    } while state.count > 0 && delivers
    if flushing.flushed() {
      waiting?.cancel()
      waiting = nil
    }
  }

  /// Delivers all requests once an earlier flush has ended. A flush without callers is cancelled, but may still be
  /// sending.
  private func deliverInTurn() async throws {
    while let delivering {
      let endWait = try delivering.wait()
      defer { endWait() }
      await withCheckedContinuation { waiting in turns.append(waiting) }
      try Task.checkCancellation()
    }
    delivering = EnclosingWork.current
    defer {
      delivering = nil
      for waiting in turns { waiting.resume() }
      turns = []
    }
    try await deliverAll()
  }

  private func deliverAll() async throws {
    switch delivery.way {
    case .none: return
    case .each(let send):
      while let entry = state.beginNext() { try await deliver([entry]) { try await send($0[0]) } }
    case .batch(let batch):
      while state.count > 0 {
        // The last attempt of a request is made alone: it is not given up because of another one.
        if !state.all.contains(where: hasLastAttempt) {
          do {
            try await deliver(state.beginAll(), batch.send)
            continue
          } catch {
            // One of several can never be delivered: sending each alone shows which. A single one would have left.
            guard OfflineFailure(error) == .permanent else { throw error }
          }
        }
        while let entry = state.beginNext() { try await deliver([entry], batch.send) }
      }
    }
  }

  /// Delivers some requests together. A single request that can never be delivered leaves the queue.
  private func deliver(
    _ entries: [OfflineQueueEntry], _ send: ([PrismQueuedRequest]) async throws -> Void
  ) async throws {
    do {
      try Task.checkCancellation()
      let requests = try entries.map { entry in
        try store?.checkBody(of: entry)
        return try entry.request.forSending()
      }
      // Unchecked: the closure was passed as `sending`, and one flush at a time calls it.
      nonisolated(unsafe) let send = send
      try await PrismNetworkFailure.detailed { try await send(requests) }
    } catch {
      return try await failed(entries, because: Task.isCancelled ? CancellationError() : error)
    }
    finish(entries)
  }

  private func failed(_ entries: [OfflineQueueEntry], because error: any Error) async throws {
    let meaning = OfflineFailure(error)
    guard entries.count == 1,
      meaning == .permanent || meaning.isFailedAttempt && hasLastAttempt(entries[0])
    else {
      // A batch with a request that can never be delivered is sent again at once, one by one: the attempts count then.
      for entry in state.failed(entries, counts: meaning.isFailedAttempt) {
        store?.note(entry, was: entry.request.retryCount - 1)
      }
      throw error
    }
    let cause = (error as? TokenError)?.cause ?? error
    await Self.report(entries[0].request, cause, to: options.undelivered)
    finish(entries)
  }

  /// Whether a request is given up if its next attempt fails.
  private func hasLastAttempt(_ entry: OfflineQueueEntry) -> Bool {
    options.maximumRetryCount.map { entry.request.retryCount >= max(0, $0) } ?? false
  }

  private func finish(_ entries: [OfflineQueueEntry]) {
    if let store {
      for entry in entries { store.remove(entry) }
    }
    state.remove(entries)
  }

  private static func report(
    _ request: PrismQueuedRequest, _ error: any Error, to handler: PrismOfflineQueueOptions.UndeliveredHandler?
  ) async {
    if let handler { return await handler(request, error) }
    DeveloperLog.write(
      "A queued request was dropped: \(request.urlRequest.httpMethod ?? "GET") "
        + "\(request.urlRequest.url?.redactedForLog ?? ""): \(error.redactedForLog)")
  }
}

/// Automatic flushing, as ``OfflineFlushState`` decides.
extension PrismOfflineQueue {
  func arrived() {
    guard autoFlush, flushing.enqueued() else { return }
    // Detached: a flush belongs to all requests, and not to the task that happened to enqueue the first of them.
    Task.detached { [weak self] in await self?.flushByItself() }
  }

  private func flushByItself() async {
    repeat {
      do {
        try await flushAll()
      } catch {
        let delay = flushing.failed(retryAfter: OfflineFailure(error).retryAfter)
        let clock = options.clock
        waiting = Task { [weak self] in
          guard (try? await clock.sleep(for: delay.sleepable)) != nil else { return }
          await self?.wake(resetting: false)
        }
        return
      }
    } while flushing.succeeded(isEmpty: state.count == 0 || !delivers)
  }

  nonisolated var isFlushing: Bool { flights.count > 0 }

  var delivers: Bool { if case .none = delivery.way { false } else { true } }

  private func wake(resetting: Bool) async {
    // A wait that has ended just when it was cancelled must not end the one that has begun since.
    guard !Task.isCancelled, flushing.woken(countsFailures: !resetting) else { return }
    // The end of the wait comes from the waiting task itself, which must not be cancelled.
    if resetting { waiting?.cancel() }
    waiting = nil
    await flushByItself()
  }

  func watch(_ connectivity: PrismConnectivityMonitor, wasOffline: Bool) {
    watching = Task { [weak self] in
      var isReturn = wasOffline
      for await isConnected in connectivity.connectionStream() {
        guard let self else { return }
        if isConnected, isReturn { await self.wake(resetting: true) }
        // The first value is the state that the flushes have found, unless they have begun without a network.
        isReturn = true
      }
    }
  }
}
