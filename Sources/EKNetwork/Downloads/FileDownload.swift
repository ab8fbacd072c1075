import Foundation

/// A download, which performs the actions of ``DownloadState`` for each attempt.
///
/// An actor, so that the caller's actor does not block on the disk; on Linux with a queue of its own, so that no thread
/// of the cooperative pool does either.
actor FileDownload {
  typealias Outcome = RequestRunner.Outcome<DownloadedFile>

  #if os(Linux)
    private let executor = QueueExecutor(label: "EKNetwork.Download")
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
  #endif

  private let destination: URL
  private let options: DownloadOptions
  private let limit: Int64?
  private let progress: ProgressReporter?
  /// `nil` once the file is in place: later writes would go to the destination.
  private var partial: PartialFile?
  private var isPlaced = false
  /// Whether this call has changed the partial file, which is otherwise that of an earlier one.
  private var hasChanged = false
  /// Whether bytes of the file have arrived since the server last rejected a token.
  private var hasAdvanced = false
  private var state: DownloadState?
  private var resumedBytes: Int64 = 0
  /// The response that has completed the file, for the log.
  private(set) var completion: (head: ResponseHead, timings: NetworkTimings?)?

  /// Creates a download, after checking the destination, before any request is sent.
  init(
    to destination: URL, options: DownloadOptions, limit: Int64?, progress: ProgressReporter?
  ) throws(DownloadError) {
    self.destination = destination
    self.options = options
    self.limit = limit.map { max(0, $0) }
    self.progress = progress
    partial = try PartialFile(for: destination)
  }

  /// Returns the existing file at the destination if the options keep it; `nil` if a download is needed.
  static func existing(at destination: URL, options: DownloadOptions) throws(DownloadError) -> DownloadedFile? {
    guard destination.isFileURL else { throw .notAFileURL(destination) }
    var status = stat()
    guard lstat(destination.path, &status) == 0 else {
      if errno == ENAMETOOLONG { throw .notWritable(destination, code: ENAMETOOLONG) }
      return nil
    }
    switch status.st_mode & S_IFMT {
    case S_IFREG, S_IFLNK: break
    case S_IFDIR: throw .notWritable(destination, code: EISDIR)
    // A device, a pipe or a socket would be replaced by a file.
    default: throw .notWritable(destination, code: ENOTSUP)
    }
    switch options.existingFile {
    case .replace: return nil
    case .fail: throw .fileExists(destination)
    case .keep:
      // The size of the target of a symbolic link.
      guard stat(destination.path, &status) == 0 else { throw .notWritable(destination, code: errno) }
      return DownloadedFile(url: destination, size: Int64(status.st_size), statusCode: nil)
    }
  }

  func attempt(_ request: HTTPRequest, over exchange: Exchange) async throws -> Outcome {
    do {
      return try await load(request, over: exchange)
    } catch let error as ResponseLimitError where error.limit == limit.map({ .size($0) }) {
      // The rest of a file that is too large is never wanted. An error response that is too large, for this limit or for
      // that of middleware, says nothing about the file: it is a refusal, which is not thrown here.
      try discard()
      throw error
    }
  }

  private func load(_ request: HTTPRequest, over exchange: Exchange) async throws -> Outcome {
    while true {
      // Middleware that ignores its cancellation does not take the lock again.
      try Task.checkCancellation()
      try open()
      let request = try conditional(request, over: exchange)
      let response = try await exchange.open(request, collectsBody: true)
      guard let status = response.head.statusCode else { throw NetworkError.invalidResponse }
      switch state?.received(DownloadHead(response.head, status: status)) ?? .refuse {
      case .write(let position) where position == 0 || partial?.holds(position) == true:
        hasChanged = true
        try partial?.prepare(at: position, of: state?.representation)
        if position == 0 { resumedBytes = 0 }
        report()
        if try await receive(response, to: request.url) { return try finish(response) }
      case .complete where partial?.holds(state?.length ?? 0) == true:
        try await response.drain()
        try checkSize()
        report()
        return try finish(response)
      case .write, .complete, .startOver:
        try await response.drain()
        try discard()
      case .refuse where StatusCodes.successful.contains(status):
        // RFC 9110 §15.3.7: a part that was not requested, whatever its status. Another attempt would get the same.
        response.body.cancel()
        let content = response.head.value("content-range").flatMap { ContentRange($0) }
        guard let range = content?.range, let total = content?.total else {
          throw URLError(
            .badServerResponse, url: response.head.url ?? request.url,
            description: "The server sent a part of the file (\(status)) that was not requested")
        }
        throw DownloadError.incomplete(received: range.upperBound - range.lowerBound + 1, announced: total)
      case .refuse:
        // Another origin, to which a redirect has led, has received no token.
        let isRejection = status == 401 && !response.head.isFromOtherOrigin
        let tokenHasExpired = isRejection && hasAdvanced
        if isRejection { hasAdvanced = false }
        return try await RequestRunner.refusal(response, tokenHasExpired: tokenHasExpired)
      }
    }
  }

  /// Opens the partial file, again if another program has replaced or truncated it: a mixture of two files is never
  /// resumed.
  private func open() throws(DownloadError) {
    if partial?.holds(state?.length ?? 0) == true { return }
    partial?.discard()
    // The lock may be on the same file.
    partial = nil
    partial = try PartialFile(for: destination)
    (state, hasChanged) = (nil, false)
  }

  /// Handles the final failure of the download: keeps the partial file if a later download can resume it.
  func failed() {
    let isIntact = !hasChanged || partial?.holds(state?.length ?? 0) == true && state?.isResumable == true
    // Its note may be missing, if it could not be written.
    if !isIntact || partial?.mayBeResumed == false { partial?.discard() }
    // The lock of the file must not last as long as middleware that ignores its cancellation.
    partial = nil
  }

  private func conditional(_ request: HTTPRequest, over exchange: Exchange) throws -> HTTPRequest {
    var request = request
    // Ranges count the bytes as they are transferred, so these must be the bytes of the file.
    if request.value("accept-encoding") == nil { request.set("Accept-Encoding", "identity") }
    let isGet = request.method == "GET"
    let name = (isGet ? "" : request.method + " ") + request.url.absoluteString
    let resource = SHA256.hexadecimal(Array(name.utf8))
    // Another attempt may use another URL.
    if state?.resource != resource {
      let held = mayResume(request) ? partial?.held : nil
      let hop = try exchange.hop(request)
      state = DownloadState(
        resource: resource, source: isGet ? DownloadSource.digest(of: request.url, keepsTokens: true) : nil,
        requester: RequestIdentity.ofRepresentation(hop), trust: hop.connection?.trust,
        held: held?.representation, length: held?.length ?? 0, wantsPart: request.value("range") != nil,
        isRepeatable: mayResume(request))
      let length = state?.length ?? 0
      // What an attempt of this call has received is not resumed.
      resumedBytes = hasChanged ? min(resumedBytes, length) : length
    }
    guard mayResume(request) else {
      state?.discarded()
      return request
    }
    for (name, value) in state?.fields ?? [:] { request.set(name, value) }
    return request
  }

  /// Returns whether the download may be resumed; a range of the caller's own must not be changed.
  private func mayResume(_ request: HTTPRequest) -> Bool {
    options.resumes && request.method == "GET" && request.value("range") == nil
  }

  /// Writes a body to the file. Returns whether it was the last one.
  private func receive(_ response: TransportResponse, to url: URL) async throws -> Bool {
    while let chunk = try await response.body.next() {
      // If this fails, it is unknown how much of the chunk is in the file: it does not count.
      try partial?.append(chunk)
      do {
        try state?.wrote(chunk.count)
      } catch {
        try discard()
        throw error
      }
      if !chunk.isEmpty { hasAdvanced = true }
      try checkSize()
      report()
    }
    switch state?.ended() {
    case .fail(let error)?: throw error
    case .requestRest?: return false
    // Like a connection that breaks in the middle of a body: the policy decides whether the rest is requested.
    case .cutShort?:
      throw URLError(
        .networkConnectionLost, url: response.head.url ?? url,
        description: "The body of the response is shorter than announced")
    default: return true
    }
  }

  /// Throws if the file is too large, whatever part of it an earlier call has left.
  private func checkSize() throws {
    if let limit, let length = state?.length, length > limit { throw ResponseLimitError(limit: .size(limit)) }
  }

  private func finish(_ response: TransportResponse) throws -> Outcome {
    let head = response.head
    completion = (head, response.body.end?.timings)
    let size = state?.length ?? 0
    let isMoved = try partial?.finish(
      length: size, replacing: isPlaced || options.existingFile == .replace, synchronizing: options.synchronizes)
    guard isMoved == true else {
      // Another program has created a file there meanwhile.
      if let kept = try Self.existing(at: destination, options: options) {
        partial?.discard()
        return .success(kept)
      }
      throw DownloadError.fileExists(destination)
    }
    // Middleware may start another attempt.
    defer { state = nil }
    (partial, isPlaced) = (nil, true)
    return .success(
      DownloadedFile(
        url: destination, size: size, response: head.urlResponse as? HTTPURLResponse, resumedBytes: resumedBytes))
  }

  private func discard() throws(DownloadError) {
    state?.discarded()
    resumedBytes = 0
    hasChanged = true
    try partial?.prepare(at: 0, of: nil)
  }

  private func report() {
    guard let state else { return }
    progress?.received(state.length, of: state.total)
  }
}

extension DownloadedFile {
  /// The status that middleware receives: a 416 to a request for the rest of a complete file counts as a success.
  fileprivate var successfulStatus: Int { statusCode.flatMap { StatusCodes.successful.contains($0) ? $0 : nil } ?? 200 }
}

extension RequestRunner.ResponseAdapter where Success == DownloadedFile {
  /// Adapts a download to middleware. What `next` has downloaded is in the file already, whatever body middleware gives
  /// the response.
  static func downloaded(by download: FileDownload, over exchange: Exchange) -> Self {
    Self(
      response: { file in
        var response =
          try file.received.response.map {
            try NetworkMiddlewareResponse(CollectedResponse(head: ResponseHead($0), data: Data()))
          } ?? NetworkMiddlewareResponse(statusCode: file.successfulStatus, headers: file.headers)
        if response.statusCode != file.successfulStatus { response.statusCode = file.successfulStatus }
        // Of a file that was complete already, nothing was received, but the content is not empty.
        response.savedSize = file.size - (file.resumedBytes < file.size ? file.resumedBytes : 0)
        return response
      },
      outcome: { response, request, last in
        let status = response.head.statusCode ?? 0
        guard StatusCodes.successful.contains(status) else { return try await RequestRunner.refusal(response) }
        guard let file = last else {
          var given = exchange
          given.transport = FixedResponseTransport(response: response, wire: exchange.transport)
          return try await download.attempt(request, over: given)
        }
        let headers = (response.head.urlResponse as? HTTPURLResponse)?.headerDictionary ?? file.headers
        if status == file.successfulStatus, headers == file.headers { return .success(file) }
        return .success(
          DownloadedFile(
            url: file.url, size: file.size, statusCode: status == file.successfulStatus ? file.statusCode : status,
            headers: headers, resumedBytes: file.resumedBytes))
      })
  }
}

/// The URL that a part of a download came from, without what differs each time that a redirect leads there.
enum DownloadSource {
  /// The parameters of a signature, in lower case: those of Amazon S3 and CloudFront, Google Cloud Storage, Azure
  /// Storage, GitHub, Alibaba OSS, Tencent COS, Akamai and nginx.
  private static let signature: Set<String> = [
    "__token__", "awsaccesskeyid", "expires", "googleaccessid", "hdnea", "hdnts", "jwt", "key-pair-id", "md5",
    "ossaccesskeyid", "policy", "se", "security-token", "sig", "signature", "ske", "skt", "sp", "st", "token",
  ]
  private static let signaturePrefixes = ["x-amz-", "x-goog-", "x-oss-", "q-"]

  /// Those of them that may name the file in a request's own URL.
  private static let tokens: Set<String> = ["__token__", "jwt", "token"]

  /// Returns a digest of the URL without its fragment and the parameters of its signature. Others may name the file.
  static func digest(of url: URL, keepsTokens: Bool = false) -> String {
    var text = url.absoluteString[...]
    if let fragment = text.firstIndex(of: "#") { text = text[..<fragment] }
    let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let query = parts.dropFirst().first?.split(separator: "&").filter { !isSignature($0, keepsTokens) } ?? []
    let name = (parts.first.map(String.init) ?? "") + (query.isEmpty ? "" : "?" + query.joined(separator: "&"))
    return SHA256.hexadecimal(Array(name.utf8))
  }

  private static func isSignature(_ parameter: Substring, _ keepsTokens: Bool) -> Bool {
    let name = parameter.prefix { $0 != "=" }.lowercased()
    if keepsTokens, tokens.contains(name) { return false }
    return signature.contains(name) || signaturePrefixes.contains { name.hasPrefix($0) }
  }
}

extension RequestRunner {
  nonisolated(nonsending) func download<T: NetworkRequest>(
    _ request: T, to destination: URL, options: DownloadOptions, baseURL: @escaping () -> URL,
    accessToken: (() -> String?)?
  ) async throws -> DownloadedFile {
    try Task.checkCancellation()
    let kept = try FileDownload.existing(at: destination, options: options)
    let progress = request.progress.map { ProgressReporter($0) }
    if let kept {
      progress?.succeeded()
      return kept
    }
    let log = log(request.methodName)
    let download = try FileDownload(
      to: destination, options: options, limit: defaults.reading { request.maximumResponseSize }, progress: progress)
    // Progress counts the bytes in the file, which the download reports itself.
    // Only a success is the file.
    let exchange = exchange(for: request, accepting: .successful, baseURL: baseURL, progress: nil, log: log)
    do {
      let file = try await call(
        of: source(request, baseURL, accessToken, accept: RequestBuilder.anything),
        policy: defaults.reading { request.retryPolicy }, over: exchange,
        adapter: .downloaded(by: download, over: exchange)
      ) { try await download.attempt($0, over: $1) }
      progress?.succeeded()
      let completion = await download.completion
      log?.finished(
        status: file.statusCode ?? 0, bytes: file.size - file.resumedBytes, timings: completion?.timings,
        head: completion?.head)
      return file
    } catch {
      await download.failed()
      log?.failed(error)
      throw error
    }
  }
}
