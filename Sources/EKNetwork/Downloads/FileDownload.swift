import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One download, attempt by attempt: acts on what ``DownloadState`` decides.
///
/// An actor, so that it is not the caller's that waits for the disk; on Linux on a queue of its own, so that it is no
/// thread of the pool either.
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
  /// `nil` once it is in its place: what is written after that would go there.
  private var partial: PartialFile?
  private var isPlaced = false
  private var state: DownloadState?
  private var resumedBytes: Int64 = 0

  /// Nothing is sent before this has made sure of the destination.
  ///
  /// - Parameter limit: The greatest size of the file.
  init(
    to destination: URL, options: DownloadOptions, limit: Int64?, progress: ProgressReporter?
  ) throws(DownloadError) {
    self.destination = destination
    self.options = options
    self.limit = limit
    self.progress = progress
    partial = try PartialFile(for: destination)
  }

  /// The file that is there already, if the options say to look.
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
    // A device, a pipe or a socket would be gone, with a file in its place.
    default: throw .notWritable(destination, code: ENOTSUP)
    }
    switch options.existingFile {
    case .replace: return nil
    case .fail: throw .fileExists(destination)
    case .keep:
      // The size of what a link leads to.
      _ = stat(destination.path, &status)
      return DownloadedFile(url: destination, size: Int64(status.st_size), statusCode: nil)
    }
  }

  /// Sends a request for what is missing, and takes the response in.
  func attempt(_ urlRequest: URLRequest, over exchange: Exchange) async throws -> Outcome {
    if partial == nil { partial = try PartialFile(for: destination) }
    while true {
      let request = try conditional(urlRequest, over: exchange)
      let response = try await exchange.open(request, collectsBody: true)
      guard let status = response.head.statusCode else { throw NetworkError.invalidResponse }
      switch state?.received(DownloadHead(response.head, status: status)) ?? .refuse {
      case .write(let position):
        try partial?.prepare(at: position, of: state?.representation)
        if position == 0 { resumedBytes = 0 }
        report()
        if try await receive(response.body) { return try finish(response.head) }
      case .complete:
        try await response.drain()
        return try finish(response.head)
      case .startOver:
        try await response.drain()
        try discard()
      case .refuse:
        return try await RequestRunner.refusal(response)
      }
    }
  }

  /// The download has failed for good: what is there is kept if a later one can go on with it.
  func failed() {
    let isKept = state.map(\.isResumable) ?? (partial?.held != nil)
    if !isKept { partial?.discard() }
  }

  // MARK: - One response

  /// The request with what this attempt adds to it.
  private func conditional(_ urlRequest: URLRequest, over exchange: Exchange) throws -> URLRequest {
    var request = urlRequest
    // Ranges count the bytes that travel, which are then also the bytes of the file.
    if request.value(forHTTPHeaderField: "Accept-Encoding") == nil {
      request.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
    }
    let isGet = request.httpMethod ?? "GET" == "GET"
    let name = (isGet ? "" : (request.httpMethod ?? "") + " ") + (request.url?.absoluteString ?? "")
    let resource = SHA256.hexadecimal(Array(name.utf8))
    // Another attempt may go to another server.
    if state?.resource != resource {
      let held = mayResume(request) ? partial?.held : nil
      state = DownloadState(
        resource: resource, asker: try exchange.hop(request).selectingIdentity.text, held: held?.representation,
        length: held?.length ?? 0, wantsPart: request.value(forHTTPHeaderField: "Range") != nil,
        isRepeatable: isGet)
      resumedBytes = state?.length ?? 0
    }
    guard mayResume(request) else {
      state?.discarded()
      return request
    }
    for (name, value) in state?.fields ?? [:] { request.setValue(value, forHTTPHeaderField: name) }
    return request
  }

  /// A range of the caller's own is none of ours to extend.
  private func mayResume(_ request: URLRequest) -> Bool {
    options.resumes && request.httpMethod ?? "GET" == "GET" && request.value(forHTTPHeaderField: "Range") == nil
  }

  /// Writes a body. `true` when it was the last one.
  private func receive(_ body: any TransportBody) async throws -> Bool {
    while let chunk = try await body.next() {
      do {
        try state?.wrote(chunk.count)
      } catch {
        try discard()
        throw error
      }
      if let limit, let length = state?.length, length > limit {
        try discard()
        throw ResponseLimitError(limit: .size(limit))
      }
      do {
        try partial?.append(chunk)
      } catch {
        // How much of this chunk is in the file is unknown.
        state?.failedToWrite(chunk.count)
        throw error
      }
      report()
    }
    switch state?.ended() {
    case .fail(let error)?: throw error
    case .goOn?: return false
    default: return true
    }
  }

  private func finish(_ head: ResponseHead) throws -> Outcome {
    let size = state?.length ?? 0
    let isMoved = try partial?.finish(
      replacing: isPlaced || options.existingFile == .replace, synchronizing: options.synchronizes)
    guard isMoved == true else {
      // Another program has put a file there meanwhile.
      if let kept = try Self.existing(at: destination, options: options) {
        partial?.discard()
        return .success(kept)
      }
      throw DownloadError.fileExists(destination)
    }
    // Middleware may call for it once more.
    defer { state = nil }
    (partial, isPlaced) = (nil, true)
    let response = head.urlResponse as? HTTPURLResponse
    return .success(
      DownloadedFile(
        url: destination, size: size, statusCode: response?.statusCode, headers: response?.headerDictionary ?? [:],
        resumedBytes: resumedBytes))
  }

  private func discard() throws(DownloadError) {
    state?.discarded()
    resumedBytes = 0
    try partial?.prepare(at: 0, of: nil)
  }

  private func report() {
    guard let state else { return }
    progress?.received(state.length, of: state.total)
  }
}
