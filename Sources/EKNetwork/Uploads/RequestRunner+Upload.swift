import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

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
      file, options: options, limit: request.maximumResponseSize, expectsContinue: request.expectsContinue,
      clock: clock,
      progress: progress)
    // Progress counts the bytes of the file, which the upload reports itself.
    let exchange = exchange(for: request, accepting: .successful, baseURL: baseURL, progress: nil, log: log)
    let retry = { RetryState(policy: request.retryPolicy, isAllowed: request.allowsRetry) }
    var retries = retry()
    var number = 1
    do {
      while true {
        do {
          // A call of its own for each attempt: a long upload may need more than one renewal of the token.
          let uploaded = try await call(
            of: source(request, baseURL, accessToken, accept: RequestBuilder.anything), policy: RetryPolicy(),
            over: exchange, adapter: .uploaded()
          ) { try await upload.attempt($0, over: $1) }
          progress?.succeeded()
          log?.finished(
            status: uploaded.response.statusCode, bytes: Int64(uploaded.response.data.count), timings: nil)
          return uploaded
        } catch {
          let failure = await upload.attemptFailed()
          if failure.hasAdvanced { retries = retry() }
          let repeatability = Repeatability(
            after: error, isIdempotent: request.isIdempotent,
            wasCarriedOut: exchange.wasCarriedOut?.withLock { $0 } == true)
          if Task.isCancelled { throw CancellationError() }
          if failure.isFinal || error is UploadError || repeatability.isForbidden || token?.hasFailed == true {
            throw error
          }
          let action = retries.failed(
            with: error, retryAfter: failure.refusal?.head.retryAfter ?? RetryAfter.delay(in: error, now: Date()),
            wasCancelled: false,
            refusal: {
              failure.refusal.flatMap { ResponseValidation.httpError(of: $0, method: request.methodName) }
            })
          guard case .retry(let delay) = action else { throw error }
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
    let exchange = exchange(
      for: request, accepting: StatusCodes.successful, baseURL: baseURL, progress: nil, log: log)
    let clock = clock
    do {
      let cancelled = try await call(
        of: source(request, baseURL, accessToken, accept: RequestBuilder.anything), policy: request.retryPolicy,
        over: exchange, adapter: .uploaded()
      ) { urlRequest, exchange in
        let creation = try exchange.hop(urlRequest)
        guard record.isSameUpload(as: UploadRecord(creation, options, file: nil, salt: record.salt)) else {
          throw NotRemembered()
        }
        let fields = try ResumableUpload(options.resumptionProtocol, to: resource.url, size: 0).fields(
          of: .requestOffset)
        let response = try await FileUpload.open("DELETE", resource, fields, of: creation.own, over: exchange)
        let collected = await FileUpload.collect(response, limit: 1_048_576, clock)
        // Draft §4.5; tus, "Termination". What is not there any more need not be removed.
        guard let status = response.head.statusCode,
          StatusCodes.successful.contains(status) || [404, 410].contains(status)
        else { return .refusal(collected) }
        return .success(UploadedFile(url: resource.url, size: 0, response: NetworkResponse(collected)))
      }
      file.remove()
      log?.finished(status: cancelled.response.statusCode, bytes: 0, timings: nil)
      return cancelled.response.isSuccess
    } catch is NotRemembered {
      return false
    } catch {
      log?.failed(error)
      throw error
    }
  }

  /// The state file remembers another upload.
  private struct NotRemembered: NonRetriableError {}
}

extension RequestRunner.ResponseAdapter where Success == UploadedFile {
  /// Adapts an upload to middleware, for which each attempt is one call.
  static func uploaded() -> Self {
    Self(
      response: { uploaded in
        let headers = uploaded.response.headerFields.map { ($0.name, $0.value) }
        var response = NetworkMiddlewareResponse(
          statusCode: uploaded.response.statusCode, headers: Dictionary(headers) { "\($0), \($1)" },
          data: uploaded.response.data)
        response.result = uploaded
        return response
      },
      outcome: { response, request, last in
        let status = response.head.statusCode ?? 0
        guard StatusCodes.successful.contains(status) else { return try await RequestRunner.refusal(response) }
        // Whatever middleware makes of the response: a file that was not sent must not count as uploaded.
        guard let last else { throw NetworkMiddlewareError.invalidResponse }
        return .success(
          UploadedFile(
            url: last.url, size: last.size, resumedBytes: last.resumedBytes,
            response: NetworkResponse(try await response.collect())))
      })
  }
}
