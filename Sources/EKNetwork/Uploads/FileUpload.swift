import Foundation

/// An upload, which performs the actions of ``ResumableUpload`` for each attempt.
///
/// An actor, so that the caller's actor does not block on the disk; on Linux with a queue of its own, so that no thread
/// of the cooperative pool does either.
actor FileUpload {
  /// A file that was uploaded, or an upload that was cancelled, with the response that says so.
  struct Completion: Sendable {
    let file: UploadedFile
    let received: CollectedResponse
  }

  typealias Outcome = RequestRunner.Outcome<Completion>

  struct Failure: Sendable {
    /// Whether the server has acknowledged bytes since the previous failure.
    let hasAdvanced: Bool
    /// Whether another attempt must not be made: the whole file was uploaded.
    let isFinal: Bool
    /// Whether another request of the upload holds its lock (423), for example one whose connection was lost: the server may
    /// not have noticed that yet.
    let isLocked: Bool
    /// Whether the upload exists: the next attempt asks for its offset, and does not create it.
    let isCreated: Bool
    let refusal: CollectedResponse?
  }

  #if os(Linux)
    private let executor = QueueExecutor(label: "EKNetwork.Upload")
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
  #endif

  /// How long the body of a response is waited for that is not needed to go on.
  private static let patience = Duration.seconds(10)
  static let largestAnswer = 1_048_576
  /// The shortest wait for the lock of an upload, unless the server wishes another.
  static let lockDelay = Duration.seconds(1)
  /// The fields that describe the file, or the request that creates the upload. They are not those of its parts.
  private static let fieldsOfCreation: Set<String> = [
    "content-type", "content-length", "content-encoding", "content-language", "content-location", "content-disposition",
    "content-digest", "repr-digest", "digest", "expect", "idempotency-key", "prefer", "if-match", "if-none-match",
    "if-modified-since", "if-unmodified-since",
  ]

  private let options: UploadOptions
  private let segment: FileSegment
  private let stamp: String
  private let limit: Int
  private let expectsContinue: Bool
  private let clock: any Clock<Duration>
  private let progress: ProgressReporter?
  private var recordFile: UploadRecordFile?
  private var record: UploadRecord?
  private var state: ResumableUpload?
  private var resumedBytes: Int64?
  private var isFinal = false
  private var refusal: CollectedResponse?
  /// What the server had when it last rejected a token.
  private var acknowledgedBeforeRejection: Int64 = 0

  /// Creates an upload, after checking the file and the state file, before any request is sent.
  init(
    _ file: URL, options: UploadOptions, limit: Int64?, expectsContinue: Bool, clock: any Clock<Duration>,
    progress: ProgressReporter?
  ) throws {
    self.options = options
    // Read first: if the file changes in between, an upload of the new version is recorded as one of the old, and not resumed.
    stamp = file.isFileURL ? FileStamp(path: file.path)?.text ?? "" : ""
    segment = try FileSegment(file)
    self.limit = Int(clamping: max(0, limit ?? Int64(Self.largestAnswer)))
    self.expectsContinue = expectsContinue
    self.clock = clock
    self.progress = progress
    recordFile = try options.state.map { url throws(UploadError) in try UploadRecordFile(url) }
  }

  /// Sends what is missing. Ends with the response that completes the upload, or that is an error.
  func attempt(_ request: HTTPRequest, over exchange: Exchange) async throws -> Outcome {
    refusal = nil
    let creation = try exchange.hop(request)
    var state = try prepare(creation)
    defer { self.state = state }
    var action = state.begin()
    try Task.checkCancellation()
    while true {
      let sent = Locked<Int64?>(exchange.transport.countsSentBytes ? 0 : nil)
      let response: TransportResponse
      do {
        response = try await send(action, of: state, creation: creation.own, over: exchange, sent: sent)
      } catch {
        // Without a connection, nothing was sent: not even the request of a part that is empty. Middleware may have sent it before.
        let isUnsent = exchange.complete(Repeatability(after: error, isIdempotent: false)).isHarmless
        if !isUnsent { state.interrupted(sent: sent.withLock { $0 }) }
        remember(state)
        throw error
      }
      guard let status = response.head.statusCode else { throw NetworkError.invalidResponse }
      var head = UploadHead(response.head, status: status)
      head.isFromOtherOrigin = response.head.isFromOtherOrigin && !exchange.hasLeftOrigin
      let isOffset = action == .requestOffset
      action = state.received(head)
      // A refusal, such as that of the lock which an earlier call has left, does not say what the server has.
      if isOffset, resumedBytes == nil, StatusCodes.successful.contains(status) { resumedBytes = state.acknowledged }
      progress?.received(state.acknowledged, of: segment.size)
      switch action {
      case .complete:
        return await finish(response, at: state.resource?.url ?? creation.own.url)
      case .refuse(let isFinal):
        if isFinal {
          self.isFinal = true
          discard()
        } else {
          remember(state)
        }
        let refusal = await Self.collect(response, limit: Self.largestAnswer, clock)
        try Task.checkCancellation()
        self.refusal = refusal
        guard status == 401, !response.head.isFromOtherOrigin else { return .refusal(refusal) }
        defer { acknowledgedBeforeRejection = state.acknowledged }
        return .refusal(refusal, tokenHasExpired: state.acknowledged > acknowledgedBeforeRejection)
      case .fail(let error):
        response.body.cancel()
        // The upload cannot be continued by a later call either.
        discard()
        throw error
      case .create, .requestOffset, .append:
        if action == .create { resumedBytes = 0 }
        remember(state)
        try await response.drain()
        try Task.checkCancellation()
        // Not before: until here, a process that is killed has not sent the last part.
        remember(state, before: action)
      }
    }
  }

  func attemptFailed() -> Failure {
    // The next attempt may fail before it reaches the server, for example while its token is read.
    defer { refusal = nil }
    return Failure(
      hasAdvanced: state?.takeAdvance() ?? false, isFinal: isFinal,
      isLocked: refusal?.head.statusCode == 423 && state?.resource != nil, isCreated: state?.resource != nil,
      refusal: refusal)
  }

  /// Handles the final failure of the upload: keeps the state file if a later call can resume it.
  func failed() {
    if recordFile?.record == nil { recordFile?.remove() }
    // The lock of the file must not last as long as middleware that ignores its cancellation.
    recordFile = nil
  }

  /// Returns the state at the start of an attempt, which may be to another URL, or of another user, than the previous one.
  private func prepare(_ creation: HopRequest) throws -> ResumableUpload {
    let held = recordFile?.record
    let salt = record?.salt ?? held?.salt ?? UUID().uuidString
    var current = UploadRecord(creation, options, file: stamp, salt: salt)
    defer { record = current }
    if let state, let record, record.destination == current.destination {
      // The token may have been renewed meanwhile: the upload is still that of this call.
      current.remember(state)
      if current.resource != nil { recordFile?.save(current) }
      return state
    }
    if let held, held.isSameUpload(as: current) {
      current.resource = held.resource
      current.mayBeComplete = held.mayBeComplete
    }
    resumedBytes = current.resource == nil ? 0 : nil
    return ResumableUpload(
      options.resumptionProtocol, to: creation.own.url, size: segment.size, chunkSize: options.chunkSize,
      resource: current.resource, mayBeComplete: current.mayBeComplete == true)
  }

  private func send(
    _ action: ResumableUpload.Action, of state: ResumableUpload, creation own: HTTPRequest, over exchange: Exchange,
    sent: Locked<Int64?>
  ) async throws -> TransportResponse {
    var fields = try state.fields(of: action, metadata: options.metadata)
    guard action != .create, let resource = state.resource else {
      var request = own
      for (name, value) in fields { request.set(name, value) }
      var exchange = exchange
      exchange.limits.size = nil
      return try await exchange.open(request, collectsBody: true)
    }
    guard case .append(let part) = action else {
      return try await Self.open("HEAD", resource, fields, of: own, over: exchange)
    }
    if expectsContinue, part.length > 0 { fields["Expect"] = "100-continue" }
    fields["Content-Length"] = "\(part.length)"
    var exchange = exchange
    exchange.onSend = { [progress, size = segment.size] count, _ in
      sent.withLock { $0 = count }
      progress?.received(part.offset.addingClamped(count), of: size)
    }
    let body = BodySource.segments([.file(segment.part(from: part.offset, length: part.length))])
    return try await Self.open("PATCH", resource, fields, body: body, of: own, over: exchange)
  }

  /// Sends a request to an upload, with the fields of the request that has created it, as far as they are meant for its
  /// origin.
  static func open(
    _ method: String, _ resource: UploadResource, _ fields: [String: String], body: BodySource? = nil,
    of own: HTTPRequest, over exchange: Exchange
  ) async throws -> TransportResponse {
    var request = own
    request.url = resource.url
    request.method = method
    request.removeFields { name, _ in fieldsOfCreation.contains(name.lowercased()) }
    for (name, value) in fields { request.set(name, value) }
    if let body { request.body = .stream(BodyInputStream(body)) }
    var exchange = exchange
    // The request's own idempotency is that of the creation. An append is not to be repeated before the offset is known.
    exchange.isIdempotent = nil
    exchange.wasCarriedOut = nil
    exchange.cacheMode = .noStore
    exchange.limits.size = nil
    if resource.isOfOtherOrigin {
      request.removeOriginFields()
      exchange.hasLeftOrigin = true
    } else {
      // They are no part of the resource, which a file remembers.
      request.url = resource.url.inheritingCredentials(of: own.url)
    }
    return try await exchange.open(request, collectsBody: true)
  }

  /// Returns a response with its body; without it if that is too long, takes too long, or is incomplete.
  static func collect(
    _ response: TransportResponse, limit: Int, _ clock: any Clock<Duration>
  ) async -> CollectedResponse {
    let tooLong = StreamingError.errorPayloadTooLarge(limitBytes: limit)
    let collected = try? await TimeLimit.run(
      patience, clock: clock, error: URLError(.timedOut), stop: response.body.cancel
    ) { try await response.collect(limit: limit, orThrow: tooLong) }
    return collected ?? CollectedResponse(head: response.head, data: Data())
  }

  private func finish(_ response: TransportResponse, at url: URL) async -> Outcome {
    isFinal = true
    discard()
    let collected = await Self.collect(response, limit: limit, clock)
    let file = UploadedFile(
      url: url, size: segment.size, resumedBytes: resumedBytes ?? 0, response: NetworkResponse(collected)
    )
    return .success(Completion(file: file, received: collected))
  }

  /// Saves where the upload is, and whether it may be complete: before the last part is sent, because the process may end
  /// with it.
  private func remember(_ state: ResumableUpload, before next: ResumableUpload.Action? = nil) {
    record?.remember(state, before: next)
    if let record, record.resource != nil { recordFile?.save(record) }
  }

  private func discard() {
    record?.resource = nil
    recordFile?.remove()
  }
}

extension RequestRunner {
  /// Uploads a file and returns the result of the first attempt that completes it. Each attempt continues where the server's
  /// offset is; only those after which it has not advanced count as retries.
  nonisolated(nonsending) func upload<T: NetworkRequest>(
    _ request: T, from file: URL, options: UploadOptions, baseURL: @escaping () -> URL, accessToken: (() -> String?)?
  ) async throws -> UploadedFile {
    try Task.checkCancellation()
    guard request.body == nil, request.multipartData == nil else { throw NetworkError.conflictingBodyTypes }
    let progress = request.progress.map { ProgressReporter($0) }
    let log = log(request.methodName)
    let upload = try FileUpload(
      file, options: options, limit: defaults.reading { request.maximumResponseSize },
      expectsContinue: request.expectsContinue, clock: clock, progress: progress)
    // Progress counts the bytes of the file, which the upload reports itself.
    var exchange = exchange(for: request, accepting: .successful, baseURL: baseURL, progress: nil, log: log)
    // They are recorded here: an upload that exists can be continued, although a POST has created it.
    exchange.recordsEnds = false
    let retry = { RetryState(policy: defaults.reading { request.retryPolicy }, isAllowed: request.allowsRetry) }
    var retries = retry()
    var number = 1
    do {
      while true {
        do {
          let uploaded = try await call(
            of: source(request, baseURL, accessToken, accept: RequestBuilder.anything), policy: RetryPolicy(),
            over: exchange, adapter: .uploaded()
          ) { try await upload.attempt($0, over: $1) }
          progress?.succeeded()
          PrismNetworkFailure.recordEnd(.completed(isIdempotent: request.isIdempotent))
          log?.finished(uploaded)
          return uploaded.file
        } catch {
          let failure = await upload.attemptFailed()
          if failure.hasAdvanced { retries = retry() }
          let isIdempotent = failure.isCreated || request.isIdempotent
          var repeatability =
            failure.refusal?.head.statusCode.map { Repeatability(status: $0, isIdempotent: isIdempotent) }
            ?? Repeatability(after: error, isIdempotent: isIdempotent)
          if !failure.isCreated { repeatability = exchange.complete(repeatability) }
          var end = repeatability
          if failure.isFinal {
            end = .completed(isIdempotent: request.isIdempotent)
          } else if failure.isCreated, options.state == nil {
            // Another call would create another upload.
            end = Repeatability(isIdempotent: request.isIdempotent, fate: .unknown, kind: end.kind)
          }
          PrismNetworkFailure.recordEnd(end)
          if Task.isCancelled { throw CancellationError() }
          if failure.isFinal || error is UploadError || token?.hasFailed == true { throw error }
          let delay = retries.failed(
            with: error, repeatability,
            retryAfter: failure.refusal?.head.retryAfter ?? RetryAfter.delay(in: error, now: Date())
              ?? (failure.isLocked ? FileUpload.lockDelay : nil),
            isOfLockedUpload: failure.isLocked,
            refusal: {
              failure.refusal.flatMap { ResponseValidation.httpError(of: $0, method: request.methodName) }
            })
          guard let delay else { throw error }
          if let deadline = exchange.deadline, .now + delay.sleepable >= deadline { throw error }
          number += 1
          log?.retrying(attempt: number, after: delay, error: error)
          try await clock.sleep(for: delay)
          progress?.restarted()
        }
      }
    } catch {
      await upload.failed()
      log?.failed(error)
      throw error
    }
  }

  /// Cancels the upload that the options' state file remembers. Returns whether there was one on the server.
  nonisolated(nonsending) func cancelUpload<T: NetworkRequest>(
    _ request: T, options: UploadOptions, baseURL: @escaping () -> URL, accessToken: (() -> String?)?
  ) async throws -> Bool {
    try Task.checkCancellation()
    guard let url = options.state, FileManager.default.fileExists(atPath: url.path) else { return false }
    var file = try UploadRecordFile(url)
    guard let record = file.record, let resource = record.resource else {
      file.remove()
      return false
    }
    let log = log(request.methodName)
    var exchange = exchange(
      for: request, accepting: StatusCodes.successful, baseURL: baseURL, progress: nil, log: log)
    // What is sent is a DELETE, not the request that has created the upload.
    exchange.isIdempotent = true
    let clock = clock
    do {
      let cancelled = try await call(
        of: source(request, baseURL, accessToken, accept: RequestBuilder.anything),
        policy: defaults.reading { request.retryPolicy }, over: exchange, adapter: .uploaded()
      ) { request, exchange in
        let creation = try exchange.hop(request)
        guard record.isSameUpload(as: UploadRecord(creation, options, file: nil, salt: record.salt)) else {
          throw NotRemembered()
        }
        let fields = try ResumableUpload(options.resumptionProtocol, to: resource.url, size: 0).fields(
          of: .requestOffset)
        let response = try await FileUpload.open("DELETE", resource, fields, of: creation.own, over: exchange)
        let collected = await FileUpload.collect(response, limit: FileUpload.largestAnswer, clock)
        // Draft §4.5; tus, "Termination". What is not there any more need not be removed.
        guard let status = response.head.statusCode,
          StatusCodes.successful.contains(status) || [404, 410].contains(status)
        else { return .refusal(collected) }
        let cancelled = UploadedFile(url: resource.url, size: 0, response: NetworkResponse(collected))
        return .success(FileUpload.Completion(file: cancelled, received: collected))
      }
      file.remove()
      log?.finished(cancelled)
      return cancelled.file.response.isSuccess
    } catch is NotRemembered {
      return false
    } catch {
      log?.failed(error)
      throw error
    }
  }

  private struct NotRemembered: NonRetriableError {}
}

extension RequestLog {
  fileprivate func finished(_ completion: FileUpload.Completion) {
    let response = completion.file.response
    finished(
      status: response.statusCode, bytes: Int64(response.data.count), timings: completion.received.timings,
      head: completion.received.head)
  }
}

extension RequestRunner.ResponseAdapter where Success == FileUpload.Completion {
  /// Adapts an upload to middleware, for which each attempt is one call.
  static func uploaded() -> Self {
    Self(
      response: { uploaded in
        var response = try NetworkMiddlewareResponse(uploaded.received)
        response.result = uploaded
        return response
      },
      outcome: { response, request, last in
        let status = response.head.statusCode ?? 0
        // A 404 to a cancellation is its result: the upload is not there any more.
        guard StatusCodes.successful.contains(status) || status == last?.file.response.statusCode else {
          return try await RequestRunner.refusal(response)
        }
        // Whatever middleware makes of the response: a file that was not sent must not count as uploaded.
        guard let last else { throw NetworkMiddlewareError.invalidResponse }
        let collected = try await response.collect()
        let (file, received) = (last.file, last.file.response)
        let isReceived =
          status == received.statusCode && collected.head.fields == received.headerFields
          && collected.data == received.data
        if isReceived { return .success(last) }
        let changed = UploadedFile(
          url: file.url, size: file.size, resumedBytes: file.resumedBytes, response: NetworkResponse(collected))
        return .success(FileUpload.Completion(file: changed, received: last.received))
      })
  }
}
