import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One upload, with its progress and its response.
///
/// ```swift
/// let task = PrismUploadTask(request: request, form: form)
/// for await progress in await task.upload() { print(progress.fractionCompleted) }
/// let (data, response) = try await task.response()
/// ```
public actor PrismUploadTask {
  /// The body of the response, and its head.
  public typealias Response = (data: Data, response: HTTPURLResponse)

  /// Sendable, unchecked: a response is not changed once it is made.
  private struct Received: @unchecked Sendable {
    let response: Response
  }

  private let exchange: Exchange
  private let makeRequest: @Sendable () throws -> URLRequest
  private nonisolated let state: Locked<UploadState<Received>>
  private nonisolated let work = Locked<Task<Void, Never>?>(nil)

  /// An upload of bytes in memory.
  ///
  /// - Parameters:
  ///   - session: Carries the request. Defaults to `URLSession.shared`.
  ///   - request: What to send, its body aside. A GET, which has none, is sent as a POST.
  ///   - data: The body.
  public init(session: URLSession = .shared, request: URLRequest, data: Data) {
    self.init(session, request, total: Int64(data.count)) { $0.httpBody = data }
  }

  /// An upload of a file, which is read while it is sent.
  ///
  /// - Parameters:
  ///   - session: Carries the request. Defaults to `URLSession.shared`.
  ///   - request: What to send, its body aside.
  ///   - file: The body. A missing one is a ``RequestBodyError`` of ``response()``.
  public init(session: URLSession = .shared, request: URLRequest, file: URL) {
    self.init(session, request, total: (try? FileSegment(file).size) ?? 0) {
      $0.setBody(.segments([.file(try FileSegment(file))]))
    }
  }

  /// An upload of a form, whose files are read while it is sent.
  ///
  /// - Parameters:
  ///   - session: Carries the request. Defaults to `URLSession.shared`.
  ///   - request: What to send, its body and `Content-Type` aside.
  ///   - form: The body.
  public init(session: URLSession = .shared, request: URLRequest, form: PrismMultipartFormData) {
    let total = (try? form.segments())?.reduce(Int64(0)) { $0 &+ $1.length } ?? 0
    self.init(session, request, total: total) {
      $0.setValue(form.contentType, forHTTPHeaderField: "Content-Type")
      $0.setBody(.segments(try form.segments()))
    }
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

  /// Starts the upload, unless it is under way, and reports how far it is: at first 0, at last, if it succeeds, the
  /// whole. The stream ends with the upload; ``response()`` says how that went.
  ///
  /// A slow reader gets the latest progress. An upload whose streams were all dropped before its end, and whose
  /// response no caller waits for, is cancelled.
  public func upload() -> AsyncStream<PrismUploadProgress> {
    let (stream, continuation) = AsyncStream<PrismUploadProgress>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let (id, progress) = state.withLock { ($0.takeID(), $0.progress) }
    // Holds the task: who only has the stream wants the upload.
    continuation.onTermination = { _ in
      let old = self.state.withLock { $0.removeListener(id) }
      withExtendedLifetime(old) { self.cancelIfAbandoned() }
    }
    // Before the upload knows of the stream: what it reports is newer.
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

  /// The response, which is waited for; the upload is started unless it is under way. It is kept: each call gives it.
  ///
  /// - Throws: `URLError` from the transport, ``HTTPError`` for a status outside 2xx, ``RequestBodyError`` for a file
  ///   that cannot be read; `CancellationError` at once when the task is cancelled, and when the upload was.
  public func response() async throws -> Response {
    let id = state.withLock { $0.takeID() }
    let received = try await withCancellableContinuation { continuation in
      let result = state.withLock { $0.wait(continuation, id: id) }
      if let result {
        continuation.resume(with: result)
        return false
      }
      start()
      return true
    } leave: { [weak self] in
      guard let self, let waiter = self.state.withLock({ $0.removeWaiter(id) }) else { return nil }
      self.cancelIfAbandoned()
      return waiter
    }
    return received.response
  }

  /// Ends the upload, if it is under way: its streams end, and ``response()`` throws `CancellationError`.
  public nonisolated func cancel() {
    state.withLock { $0.cancel() }
    let task = work.withLock { $0 }
    task?.cancel()
  }

  private nonisolated func cancelIfAbandoned() {
    if state.withLock({ $0.isAbandoned }) { cancel() }
  }

  private func start() {
    guard state.withLock({ $0.start() }) else { return }
    var exchange = exchange
    let (state, makeRequest) = (state, makeRequest)
    exchange.onSend = { sent, _ in
      let (progress, listeners) = state.withLock { ($0.sent(sent), Array($0.listeners.values)) }
      guard let progress else { return }
      for listener in listeners { listener.yield(progress) }
    }
    let task = Task<Void, Never> { [exchange] in
      let result: Result<Received, any Error>
      do {
        result = .success(try await Self.load(makeRequest(), over: exchange))
      } catch {
        result = .failure(Task.isCancelled ? CancellationError() : error)
      }
      let (listeners, waiters) = state.withLock { $0.finish(result) }
      let progress = state.withLock { $0.progress }
      for listener in listeners {
        if case .success = result { listener.yield(progress) }
        listener.finish()
      }
      for waiter in waiters { waiter.resume(with: result) }
    }
    work.withLock { $0 = task }
    // The last caller may have left, or cancelled it, before there was a task to cancel.
    if state.withLock({ $0.isCancelled || $0.isAbandoned }) { cancel() }
  }

  private static func load(_ request: URLRequest, over exchange: Exchange) async throws -> Received {
    let fetched = try await exchange.load(request)
    guard let response = fetched.head.urlResponse as? HTTPURLResponse else { throw NetworkError.invalidResponse }
    guard (200..<300).contains(response.statusCode) else {
      throw HTTPError(statusCode: response.statusCode, data: fetched.data, headers: response.headerDictionary)
    }
    return Received(response: (fetched.data, response))
  }
}

extension URLRequest {
  /// Gives the request a body that is read while it is sent, and announces its length.
  mutating func setBody(_ source: BodySource) {
    httpBodyStream = BodyInputStream(source)
    if let length = source.length { setValue(String(length), forHTTPHeaderField: "Content-Length") }
  }
}
