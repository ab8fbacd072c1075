import Foundation

/// A request that waits in a ``PrismOfflineQueue``.
public struct PrismQueuedRequest: Sendable, Identifiable {
  /// The identifier of the request, in every attempt and every run of the program.
  public let id: UUID
  /// The request to send.
  public let urlRequest: URLRequest
  /// When the request was created.
  public let createdAt: Date
  /// The number of failed attempts; a negative number becomes 0.
  public var retryCount: Int {
    didSet { retryCount = max(0, retryCount) }
  }
  /// The priority. Requests with a higher priority are sent first.
  public let priority: Int
  /// How redirects are handled if `PrismQueueDelivery.manager(_:accessToken:)` sends the request. Defaults to
  /// ``RedirectPolicy/follow``.
  public var redirectPolicy = RedirectPolicy.follow

  /// Creates a request for a queue.
  ///
  /// - Parameters:
  ///   - id: Defaults to a new one.
  ///   - urlRequest: The request to send.
  ///   - createdAt: Defaults to now.
  ///   - retryCount: Defaults to 0.
  ///   - priority: Defaults to 0. Requests with the same priority are sent in the order of arrival.
  public init(
    id: UUID = UUID(), urlRequest: URLRequest, createdAt: Date = Date(), retryCount: Int = 0, priority: Int = 0
  ) {
    self.id = id
    self.urlRequest = urlRequest
    self.createdAt = createdAt
    self.retryCount = max(0, retryCount)
    self.priority = priority
  }

  /// The file that holds the body, if that is not in ``urlRequest``. It is read when the request is sent.
  public internal(set) var bodyFile: URL?

  /// The names of the header fields in their order, which a `URLRequest` does not keep.
  var fieldNames: [String] = []

  var failedOnceMore: PrismQueuedRequest {
    with(urlRequest, retryCount: retryCount < .max ? retryCount + 1 : retryCount)
  }

  /// Returns the request as it is sent: with an `Idempotency-Key` that is the same each time, unless it has one of its
  /// own.
  func forSending() throws(RequestBodyError) -> PrismQueuedRequest {
    var request = urlRequest
    if request.value(forHTTPHeaderField: "Idempotency-Key") == nil {
      request.setValue(id.uuidString, forHTTPHeaderField: "Idempotency-Key")
    }
    if let bodyFile {
      let segment = try FileSegment(bodyFile)
      #if canImport(Darwin)
        // Foundation's `URLSession`, to which the queue's handler may pass the request, cannot read a subclass.
        request.httpBodyStream = InputStream(url: segment.url)
      #else
        request.httpBodyStream = BodyInputStream(.segments([.file(segment)]))
      #endif
    } else if let body = request.httpBodyStream as? BodyInputStream {
      // An earlier attempt may have read the stream.
      request.httpBodyStream = body.unread
    }
    return with(request, retryCount: retryCount)
  }

  /// Returns the request with its body open, so that the file can be removed; `nil` if it cannot be opened or copied.
  ///
  /// - Parameter shared: A file to whose end the body is copied, so that it needs no descriptor of its own.
  func holdingBody(in shared: OpenFile? = nil) -> PrismQueuedRequest? {
    guard let bodyFile, let file = OpenFile(bodyFile.path, O_RDONLY | O_CLOEXEC), let size = file.size else {
      return nil
    }
    let segment = FileSegment(unlinked: file, name: bodyFile, size: size)
    guard let shared else { return with(segment) }
    guard let start = shared.size, (try? SegmentReader([.file(segment)]).copy(to: shared) ?? 0) == 0 else { return nil }
    let end = start.addingClamped(size)
    return with(FileSegment(unlinked: shared, name: bodyFile, size: end).part(from: start, length: size))
  }

  func with(_ body: FileSegment) -> PrismQueuedRequest {
    var request = urlRequest
    request.httpBodyStream = BodyInputStream(.segments([.file(body)]))
    var copy = with(request, retryCount: retryCount)
    copy.bodyFile = nil
    return copy
  }

  private func with(_ urlRequest: URLRequest, retryCount: Int) -> PrismQueuedRequest {
    var copy = PrismQueuedRequest(
      id: id, urlRequest: urlRequest, createdAt: createdAt, retryCount: retryCount, priority: priority)
    copy.bodyFile = bodyFile
    copy.fieldNames = fieldNames
    copy.redirectPolicy = redirectPolicy
    return copy
  }
}

extension PrismQueuedRequest: Redacted {
  var redacted: String {
    "\(id): \(FailedExchange(method: urlRequest.httpMethod, url: urlRequest.url).request), \(retryCount) failed attempts"
  }
}

/// The location of a request's body while it waits in a ``PrismOfflineQueue``.
public enum PrismQueuedBody: Sendable, Equatable {
  /// The body of the `URLRequest`, if any.
  case ofRequest
  /// A file that stays where it is and is read when the request is sent. If it has been removed by then, the request
  /// can never be delivered.
  case reference(URL)
  /// A file that is copied into the queue's folder when the request is enqueued. It counts towards the queue's bytes. A
  /// queue in memory has no folder, and reads the file when the request is sent.
  case copy(URL)
}

/// A request as it is stored in a queue's folder: everything but the bytes of its body.
struct StoredRequest: Codable, Equatable {
  enum Body: Codable, Equatable {
    case none
    /// In the same file, after the encoded request.
    case inline
    /// In a separate file, which belongs to the queue.
    case copied
    /// In a file of the app.
    case referenced(path: String)
  }

  private static let credentials: Set<String> = ["authorization", "proxy-authorization", "cookie"]

  var id: UUID
  var createdAt: Date
  var priority: Int
  var url: URL
  var method: String
  var fields: [String: String]
  /// `nil` for an infinite timeout, which JSON cannot represent.
  var timeout: TimeInterval?
  var handlesCookies: Bool
  // Optional: files of earlier versions do not have them.
  var options: RequestOptions?
  var rejectsRedirects: Bool?
  var fieldNames: [String]?
  /// The home directory when the request was stored, if its body is in a file of the app.
  var home: String?
  var body: Body

  init(_ request: PrismQueuedRequest, body: Body, storesCredentials: Bool) throws(PrismOfflineQueueError) {
    guard let url = request.urlRequest.url else { throw .noURL }
    id = request.id
    createdAt = request.createdAt
    priority = request.priority
    self.url = storesCredentials ? url : url.withoutCredentials
    method = request.urlRequest.httpMethod ?? "GET"
    fields = request.urlRequest.allHTTPHeaderFields ?? [:]
    if !storesCredentials { fields = fields.filter { !Self.credentials.contains($0.key.lowercased()) } }
    let interval = request.urlRequest.timeoutInterval
    timeout = interval.isFinite ? interval : nil
    handlesCookies = request.urlRequest.httpShouldHandleCookies
    options = RequestOptions(request.urlRequest)
    rejectsRedirects = request.redirectPolicy == .reject
    fieldNames = request.fieldNames.isEmpty ? nil : request.fieldNames
    if case .referenced = body { home = NSHomeDirectory() }
    self.body = body
  }

  func request(retryCount: Int, data: Data, file: URL?) -> PrismQueuedRequest {
    var urlRequest = URLRequest(url: url)
    urlRequest.httpMethod = method
    urlRequest.allHTTPHeaderFields = fields
    // What is set overrides the session, even if it is the default of a new request.
    if timeout != urlRequest.timeoutInterval { urlRequest.timeoutInterval = timeout ?? .infinity }
    if !handlesCookies { urlRequest.httpShouldHandleCookies = false }
    options?.apply(to: &urlRequest)
    if body == .inline { urlRequest.httpBody = data }
    var request = PrismQueuedRequest(
      id: id, urlRequest: urlRequest, createdAt: createdAt, retryCount: retryCount, priority: priority)
    request.bodyFile = file
    request.fieldNames = fieldNames ?? []
    request.redirectPolicy = rejectsRedirects == true ? .reject : .follow
    return request
  }
}

struct OfflineContent {
  /// The bytes that are stored in the file of the request.
  var data = Data()
  /// The segments that have to be copied into the queue's folder.
  var copied: [BodySegment] = []
  /// The file that is read when the request is sent.
  var file: URL?
  var stored = StoredRequest.Body.none
  /// The request as a queue in memory keeps it.
  var kept: PrismQueuedRequest

  /// - Parameter isDurable: Whether it has to outlive the process.
  init(_ queued: PrismQueuedRequest, _ body: PrismQueuedBody, isDurable: Bool) throws(PrismOfflineQueueError) {
    let request = queued.urlRequest
    kept = queued
    var body = body
    if body == .ofRequest, let file = queued.bodyFile {
      // The request was in a queue before, whose copy of the body may be removed soon.
      body = OfflineStore.isBody(file.lastPathComponent) ? .copy(file) : .reference(file)
    }
    switch body {
    case .reference(let url):
      guard (try? FileSegment(url)) != nil else { throw .bodyNotReadable(url) }
      file = url
      stored = .referenced(path: url.path)
    case .copy(let url):
      guard let segment = try? FileSegment(url) else { throw .bodyNotReadable(url) }
      stored = .copied
      copied = [.file(segment)]
      if isDurable { break }
      guard OfflineStore.isBody(url.lastPathComponent) else {
        file = url
        break
      }
      // The copy of another queue, which removes it with its request: the file is kept open.
      kept.bodyFile = url
      guard let holding = kept.holdingBody() else { throw .bodyNotReadable(url) }
      kept = holding
    case .ofRequest:
      if let stream = request.httpBodyStream {
        guard let source = (stream as? BodyInputStream)?.source, case .segments(let segments) = source else {
          throw .bodyNotRepeatable
        }
        stored = .copied
        copied = segments
      } else if let body = request.httpBody {
        stored = .inline
        data = body
      }
    }
    kept.bodyFile = file
  }

  var size: Int64 { Int64(data.count).addingClamped(BodySource.segments(copied).length ?? 0) }
}
