import Dispatch
import Foundation

/// One request on a `URLSessionTask`: the delegate's callbacks write at one end, and the consumer reads at the other.
final class TaskResponseStream: Sendable {
  typealias State = TaskResponseState<
    UnsafeContinuation<ResponseHead, any Error>, UnsafeContinuation<Data?, any Error>
  >

  private struct Storage {
    var state: State
    var timeouts: TaskTimeouts
    var timer: (any DispatchSourceTimer)?
    var sent: Int64 = 0
    /// The bodies being sent: more than one if the system has requested the body again.
    var pumps: [BodyPump] = []
    var timings: NetworkTimings?
  }

  let request: TransportRequest
  let gate = TaskGate()
  private let storage: Locked<Storage>
  /// The queue for calls that block on Foundation's own work queue, and are therefore never made on the caller's
  /// thread.
  private let queue: DispatchQueue

  init(
    _ request: TransportRequest, idleTimeout: Duration?, limit: Int, overflow: State.Overflow, queue: DispatchQueue
  ) {
    self.request = request
    self.queue = queue
    storage = Locked(
      Storage(
        state: State(limit: limit, overflow: overflow),
        timeouts: TaskTimeouts(idle: idleTimeout, deadline: request.deadline, now: .now)))
  }

  func head() async throws -> ResponseHead {
    armTimer()
    return try await withTaskCancellationHandler {
      try await withUnsafeThrowingContinuation { continuation in
        guard let result = storage.withLock({ $0.state.waitForHead(continuation) }) else { return }
        continuation.resume(with: result)
      }
    } onCancel: {
      cancel()
    }
  }

  func next() async throws -> Data? {
    try await withTaskCancellationHandler {
      try await withUnsafeThrowingContinuation { continuation in
        switch storage.withLock({ $0.state.next(continuation) }) {
        case .chunk(let data, let resumes)?:
          continuation.resume(returning: data)
          if resumes { followConsumer() }
        case .failure(let error)?: continuation.resume(throwing: error)
        case nil: break
        }
      }
    } onCancel: {
      cancel()
    }
  }

  /// Ends the exchange: the waiting caller gets the error immediately, and the task is cancelled shortly after.
  func cancel() { change { $0.cancel() } }

  /// Ends the exchange as ``cancel()`` does, but what has arrived can still be read.
  func stopReceiving() { change { $0.stopReceiving() } }

  /// Handles a response head. Interim responses (RFC 9110 §15.2) are reported and skipped; 101 is final.
  func didReceive(_ response: URLResponse, holding: Bool = false) {
    if let response = response as? HTTPURLResponse, (100..<200).contains(response.statusCode),
      response.statusCode != 101
    {
      request.onInterim?.received(response)
      return noteActivity()
    }
    change { $0.receive(response, holding: holding) }
  }

  func didReceive(_ data: Data) {
    let progress = change { $0.receive(data) }
    guard let onReceive = request.onReceive, let progress else { return }
    onReceive.report(progress.received, progress.total)
  }

  func didSend(_ sent: Int64, expected: Int64) {
    let isProgress = storage.withLock { storage in
      storage.timeouts.noteActivity(.now)
      guard sent > storage.sent, !storage.state.isOver else { return false }
      storage.sent = sent
      return true
    }
    if isProgress { request.onSend?(sent, expected > 0 ? expected : nil) }
  }

  /// Handles the end of the task. `response` is the task's own, for responses that were never reported to the delegate.
  func didComplete(_ error: (any Error)?, response: URLResponse?) {
    gate.close()
    change { $0.complete(error.map { URLError.mapped($0, url: self.request.sent.url) }, fallback: response) }
    let pumps = storage.withLock { storage in
      defer { storage.pumps = [] }
      return storage.pumps
    }
    for pump in pumps { pump.close() }
  }

  func fail(_ error: any Error) { change { $0.fail(error) } }

  /// Sends a body through a sink of the system's. If the body has not ended, the sink is only closed once the task is
  /// over: cancelling a task takes time, in which the server would take what was sent for the whole body.
  func pump(_ body: BodyInputStream, into sink: sending any BodySink) {
    let pump = BodyPump(body.source.makeUpload(), into: sink) { [weak self] error in
      self?.fail(error)
      self?.gate.cancel()
    }
    let (old, isTooLate) = storage.withLock { storage in
      defer { storage.pumps.append(pump) }
      return (storage.pumps.last, storage.state.isOver)
    }
    old?.cancel()
    if !isTooLate { pump.start() }
  }

  /// The timings that the system measured for the task, if it measures any.
  var timings: NetworkTimings? { storage.withLock { $0.timings } }

  func didMeasure(_ timings: @autoclosure () -> NetworkTimings?) {
    guard request.wantsTimings, let timings = timings() else { return }
    storage.withLock { $0.timings = timings }
  }

  /// Returns the stream to answer with when the body is requested again. If there is none, the exchange fails.
  func secondBody() -> InputStream? {
    if let source = request.sent.bodySource, source.isReplayable {
      let body = BodyInputStream(source)
      #if canImport(Darwin)
        return StreamSink.makeStream(body, for: self)
      #else
        return body
      #endif
    }
    guard request.sent.stream != nil else {
      #if canImport(Darwin)
        // A stream is requested if a `URLProtocol` is involved, and after some lost connections.
        if let data = request.sent.data { return InputStream(data: data) }
      #endif
      // The server closed the connection to which part of the body had been sent.
      fail(URLError(.networkConnectionLost, url: request.sent.url))
      return nil
    }
    fail(URLError(.requestBodyStreamExhausted, url: request.sent.url))
    return nil
  }

  /// The response received so far, held or not.
  var response: URLResponse? { storage.withLock { $0.state.response } }

  /// Whether the response is a challenge that may still be answered.
  var isHeadHeld: Bool { storage.withLock { $0.state.isHeadHeld } }

  /// The decision of the user's delegate, if the response is a redirect.
  var redirect: RedirectDecision { storage.withLock { $0.state.redirect } }

  func decide(_ decision: RedirectDecision) { storage.withLock { $0.state.decide(decision) } }

  func restartWithCredentials() { storage.withLock { $0.state.restart() } }

  func rejectChallenge() { storage.withLock { $0.state.rejectChallenge() } }

  private func noteActivity() { storage.withLock { $0.timeouts.noteActivity(.now) } }

  @discardableResult
  private func change(_ event: (inout State) -> State.Effects) -> (received: Int64, total: Int64?)? {
    let now = ContinuousInstant.now
    var progress: (received: Int64, total: Int64?)?
    let (effects, timer, pumps) = storage.withLock { storage in
      storage.timeouts.noteActivity(now)
      let effects = event(&storage.state)
      let timer = effects.isOver ? storage.timer.take() : nil
      let pumps = effects.isOver ? storage.pumps : []
      if let response = storage.state.response, !storage.state.isOver, !storage.state.isHeadHeld,
        request.onReceive?.observes(ResponseHead(response)) == true
      {
        let expected = response.expectedContentLength
        progress = (storage.state.received, expected >= 0 ? expected : nil)
      }
      return (effects, timer, pumps)
    }
    timer?.cancel()
    for pump in pumps { pump.cancel() }
    effects.delivery.resume()
    if effects.cancelsTask { queue.async { [gate] in gate.cancel() } }
    if effects.delivery.pauses { followConsumer() }
    return progress
  }

  /// Suspends or resumes the task, depending on how much is waiting for the consumer.
  private func followConsumer() { gate.follow { storage.withLock { $0.state.isSuspended } } }

  private func armTimer() {
    guard storage.withLock({ $0.timeouts.expiry }) != nil else { return }
    let timer = DispatchSource.makeTimerSource(queue: .global())
    timer.setEventHandler { [weak self] in self?.checkTime() }
    let isNeeded = storage.withLock { storage in
      guard !storage.state.isOver else { return false }
      storage.timer = timer
      return true
    }
    timer.resume()
    if isNeeded { checkTime() } else { timer.cancel() }
  }

  /// Fails the exchange if its time is up, otherwise schedules the next check.
  private func checkTime() {
    let now = ContinuousInstant.now
    let expired = storage.withLock { storage in
      guard let timer = storage.timer, let expiry = storage.timeouts.expiry else { return false }
      guard expiry > now else { return true }
      let wait = min(expiry - now, .seconds(86_400)).components
      // In whole milliseconds, rounded up: a timer that fires too early has to be armed twice.
      let milliseconds = wait.seconds * 1_000 + wait.attoseconds / 1_000_000_000_000_000 + 1
      timer.schedule(deadline: .now() + .milliseconds(Int(clamping: milliseconds)), leeway: .milliseconds(1))
      return false
    }
    if expired { fail(URLError.timedOut(request.sent.url)) }
  }
}

#if canImport(Darwin)
  /// The writing end of a stream that CFNetwork can schedule: it requires more of an `InputStream` than a subclass can
  /// implement. Its callbacks arrive on a queue, so neither a run loop nor a waiting thread is needed.
  ///
  /// Sendable, unchecked: it is passed to its pump, and then only used on the pump's queue.
  final class StreamSink: NSObject, BodySink, StreamDelegate, @unchecked Sendable {
    private let output: OutputStream
    private var onChange: (@Sendable () -> Void)?

    init(_ output: OutputStream) { self.output = output }

    /// Returns the same body, unread, as a stream of the system's own, which the exchange fills.
    static func makeStream(_ body: BodyInputStream, for taskResponse: TaskResponseStream) -> InputStream? {
      var input: InputStream?
      var output: OutputStream?
      Stream.getBoundStreams(withBufferSize: 64 * 1024, inputStream: &input, outputStream: &output)
      guard let input, let output else { return nil }
      taskResponse.pump(body, into: StreamSink(output))
      return input
    }

    func open(on queue: DispatchQueue, onChange: @escaping @Sendable () -> Void) {
      self.onChange = onChange
      output.delegate = self
      CFWriteStreamSetDispatchQueue(output as CFWriteStream, queue)
      output.open()
    }

    // A failed stream reports no space: it is written to nevertheless, because the write returns the error.
    var hasSpace: Bool { output.hasSpaceAvailable || output.streamStatus == .error || output.streamStatus == .closed }

    func write(_ bytes: UnsafeRawBufferPointer) -> Int {
      bytes.withMemoryRebound(to: UInt8.self) { bytes in
        bytes.baseAddress.map { output.write($0, maxLength: bytes.count) } ?? 0
      }
    }

    func close() {
      output.delegate = nil
      output.close()
    }

    func stream(_ stream: Stream, handle event: Stream.Event) { onChange?() }
  }
#endif
