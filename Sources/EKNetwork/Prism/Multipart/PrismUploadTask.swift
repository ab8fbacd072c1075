import Foundation

/// A single upload, with its progress and its response.
///
/// ```swift
/// let task = PrismUploadTask(request: request, form: form)
/// for await progress in await task.upload() { print(progress.fractionCompleted) }
/// let (data, response) = try await task.response()
/// ```
public actor PrismUploadTask {
  /// The body and the head of the response.
  public typealias Response = (data: Data, response: HTTPURLResponse)

  private let exchange: Exchange
  private let makeRequest: @Sendable () throws -> URLRequest
  private nonisolated let state: Locked<UploadState>
  private nonisolated let work = Locked<Task<Response, any Error>?>(nil)

  /// Creates an upload of bytes in memory.
  ///
  /// - Parameters:
  ///   - request: The request, without its body. A GET, which has no body, is sent as a POST.
  ///   - data: The body.
  ///   - session: The session that sends the request. Defaults to `URLSession.shared`.
  public init(request: URLRequest, data: Data, session: URLSession = .shared) {
    self.init(session, request, total: Int64(data.count)) { $0.httpBody = data }
  }

  /// Creates an upload of a file, which is read while it is sent.
  ///
  /// - Parameters:
  ///   - request: The request, without its body.
  ///   - file: The body. If it is missing, ``response()`` throws ``RequestBodyError``.
  ///   - session: The session that sends the request. Defaults to `URLSession.shared`.
  public init(request: URLRequest, file: URL, session: URLSession = .shared) {
    self.init(session, request, total: (try? FileSegment(file).size) ?? 0) {
      $0.setBody(.segments([.file(try FileSegment(file))]))
    }
  }

  /// Creates an upload of a form, whose files are read while it is sent.
  ///
  /// - Parameters:
  ///   - request: The request, without its body and `Content-Type`.
  ///   - form: The body.
  ///   - session: The session that sends the request. Defaults to `URLSession.shared`.
  public init(request: URLRequest, form: PrismMultipartFormData, session: URLSession = .shared) {
    let total = (try? form.segments())?.reduce(Int64(0)) { $0 &+ $1.length } ?? 0
    self.init(session, request, total: total) {
      $0.setValue(form.contentType, forHTTPHeaderField: "Content-Type")
      $0.setBody(.segments(try form.segments()))
    }
  }

  /// Creates the same upload of bytes, with the session first.
  public init(session: URLSession, request: URLRequest, data: Data) {
    self.init(request: request, data: data, session: session)
  }

  /// Creates the same upload of a file, with the session first.
  public init(session: URLSession, request: URLRequest, file: URL) {
    self.init(request: request, file: file, session: session)
  }

  /// Creates the same upload of a form, with the session first.
  public init(session: URLSession, request: URLRequest, form: PrismMultipartFormData) {
    self.init(request: request, form: form, session: session)
  }

  private init(
    _ session: URLSession, _ request: URLRequest, total: Int64,
    body: @escaping @Sendable (inout URLRequest) throws -> Void
  ) {
    exchange = Exchange(transport: TransportSelection.transport(for: session))
    state = Locked(UploadState(total: total))
    makeRequest = {
      var request = request
      if request.httpMethod ?? "GET" == "GET" { request.httpMethod = "POST" }
      try body(&request)
      return request
    }
  }

  deinit { cancel() }

  /// Starts the upload, unless it has started already, and returns a stream of its progress: first the current
  /// progress, and last, if the upload succeeds, the total. The stream ends with the upload; ``response()`` returns the
  /// result.
  ///
  /// A slow reader gets only the latest progress. An upload is cancelled if all its streams have been released before
  /// its end and no caller waits for its response.
  public func upload() -> AsyncStream<PrismUploadProgress> {
    let (stream, continuation) = AsyncStream<PrismUploadProgress>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let (id, progress) = state.withLock { ($0.takeID(), $0.progress) }
    // Captures `self`: a stream alone keeps the upload alive.
    continuation.onTermination = { _ in
      let old = self.state.withLock { $0.removeListener(id) }
      withExtendedLifetime(old) { self.cancelIfAbandoned() }
    }
    // Before the stream is registered: whatever the upload reports is newer.
    continuation.yield(progress)
    let (isListening, latest) = state.withLock { ($0.listen(continuation, id: id), $0.progress) }
    if isListening {
      start()
    } else {
      continuation.yield(latest)
      continuation.finish()
    }
    return stream
  }

  /// Waits for the response and returns it; starts the upload unless it has started already. Every call returns the
  /// same response.
  ///
  /// - Throws: `URLError` from the transport, ``HTTPError`` for a status outside 2xx, ``RequestBodyError`` for a file
  ///   that cannot be read; `CancellationError` at once when the task is cancelled, and if the upload was.
  public func response() async throws -> Response {
    try Task.checkCancellation()
    state.withLock { $0.waiterCount += 1 }
    defer {
      state.withLock { $0.waiterCount -= 1 }
      cancelIfAbandoned()
    }
    let work = start()
    return try await withPromptCancellation(patience: .zero) { try await work.value }
  }

  /// Cancels the upload, if it is in progress: its streams end, and ``response()`` throws `CancellationError`.
  public nonisolated func cancel() {
    state.withLock { $0.cancel() }
    let task = work.withLock { $0 }
    task?.cancel()
  }

  private nonisolated func cancelIfAbandoned() {
    if state.withLock({ $0.isAbandoned }) { cancel() }
  }

  @discardableResult
  private func start() -> Task<Response, any Error> {
    if !state.withLock({ $0.start() }), let task = work.withLock({ $0 }) { return task }
    var exchange = exchange
    let (state, makeRequest) = (state, makeRequest)
    exchange.onSend = { sent, total in
      let (progress, listeners) = state.withLock { ($0.sent(sent, of: total), Array($0.listeners.values)) }
      guard let progress else { return }
      for listener in listeners { listener.yield(progress) }
    }
    let task = Task { [exchange] in
      do {
        let request = try makeRequest()
        if let length = request.bodyLength { state.withLock { $0.begin(total: length) } }
        let received = try await Self.load(request, over: exchange)
        let (listeners, progress) = state.withLock { ($0.finish(succeeded: true), $0.progress) }
        for listener in listeners {
          listener.yield(progress)
          listener.finish()
        }
        return received
      } catch {
        // Decided before the end is seen: an upload that has ended can no longer be cancelled.
        let failure: any Error = Task.isCancelled ? CancellationError() : error
        for listener in state.withLock({ $0.finish(succeeded: false) }) { listener.finish() }
        throw failure
      }
    }
    work.withLock { $0 = task }
    // The last caller may have left, or cancelled the upload, before there was a task to cancel.
    if state.withLock({ $0.isCancelled || $0.isAbandoned }) { cancel() }
    return task
  }

  private static func load(_ request: URLRequest, over exchange: Exchange) async throws -> Response {
    let fetched = try await exchange.load(HTTPRequest(request))
    guard let response = fetched.head.urlResponse as? HTTPURLResponse else { throw NetworkError.invalidResponse }
    guard StatusCodes.successful.contains(response.statusCode) else {
      throw HTTPError(response, data: fetched.data, method: request.httpMethod)
    }
    return (fetched.data, response)
  }
}

extension URLRequest {
  /// Sets a body that is read while it is sent, and its `Content-Length`.
  mutating func setBody(_ source: BodySource) {
    httpBodyStream = BodyInputStream(source)
    if let length = source.length { setValue(String(length), forHTTPHeaderField: "Content-Length") }
  }

  fileprivate var bodyLength: Int64? {
    httpBody.map { Int64($0.count) } ?? value(forHTTPHeaderField: "Content-Length").flatMap { Int64($0) }
  }
}

/// The progress of an upload.
public struct PrismUploadProgress: Sendable, Equatable {
  /// The number of bytes of the body that were passed to the network.
  public let bytesUploaded: Int64
  /// The total number of bytes of the body.
  public let totalBytes: Int64

  /// Creates a progress as an upload would report it, for tests.
  public init(bytesUploaded: Int64, totalBytes: Int64) {
    self.bytesUploaded = bytesUploaded
    self.totalBytes = totalBytes
  }

  /// The fraction from 0 to 1; 0 if the body is empty.
  public var fractionCompleted: Double {
    totalBytes > 0 ? min(max(Double(bytesUploaded) / Double(totalBytes), 0), 1) : 0
  }
}

/// The state of one upload: its progress, its listeners, and how many callers wait for its response. A value: its owner
/// resumes the continuations that it returns, outside of its lock.
struct UploadState {
  typealias Listener = AsyncStream<PrismUploadProgress>.Continuation

  private(set) var progress: PrismUploadProgress
  private(set) var listeners: [UInt64: Listener] = [:]
  var waiterCount = 0
  private var nextID: UInt64 = 0
  private var isStarted = false
  private var isOver = false
  /// Whether it was cancelled while in progress.
  private(set) var isCancelled = false

  init(total: Int64) { progress = PrismUploadProgress(bytesUploaded: 0, totalBytes: total) }

  var isAbandoned: Bool { isStarted && !isOver && listeners.isEmpty && waiterCount == 0 }

  mutating func takeID() -> UInt64 { nextID.increment() }

  mutating func start() -> Bool { !exchange(&isStarted, with: true) }

  /// Sets the length of the body that is about to be sent: a file may have changed since the upload was created.
  mutating func begin(total: Int64) {
    guard !isOver else { return }
    progress = PrismUploadProgress(bytesUploaded: min(progress.bytesUploaded, total), totalBytes: total)
  }

  mutating func cancel() {
    if isStarted, !isOver { isCancelled = true }
  }

  mutating func listen(_ listener: Listener, id: UInt64) -> Bool {
    guard !isOver else { return false }
    listeners[id] = listener
    return true
  }

  mutating func removeListener(_ id: UInt64) -> Listener? { listeners.removeValue(forKey: id) }

  /// Updates the progress; returns `nil` if it did not grow: after a redirect the body may be sent a second time.
  ///
  /// - Parameter total: The length of the body that is sent, if the transport reports it.
  mutating func sent(_ bytes: Int64, of total: Int64?) -> PrismUploadProgress? {
    guard !isOver, bytes > progress.bytesUploaded else { return nil }
    let total = total ?? progress.totalBytes
    progress = PrismUploadProgress(bytesUploaded: min(bytes, total), totalBytes: total)
    return progress
  }

  /// Ends the upload and returns its listeners. After a success the last progress is the total.
  mutating func finish(succeeded: Bool) -> [Listener] {
    isOver = true
    if succeeded {
      progress = PrismUploadProgress(bytesUploaded: progress.totalBytes, totalBytes: progress.totalBytes)
    }
    return Array(exchange(&listeners, with: [:]).values)
  }
}
