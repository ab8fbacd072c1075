import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

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
  /// How redirects are handled if ``PrismQueueDelivery/manager(_:accessToken:)`` sends the request. Defaults to
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

  /// The request after one more failed attempt.
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

  /// The request with its body file open, so that the file can be removed; `nil` if it cannot be opened.
  var holdingBody: PrismQueuedRequest? {
    guard let bodyFile, let file = OpenFile(bodyFile.path, O_RDONLY | O_CLOEXEC), let size = file.size else {
      return nil
    }
    var request = urlRequest
    request.httpBodyStream = BodyInputStream(
      .segments([.file(FileSegment(unlinked: file, name: bodyFile, size: size))]))
    var copy = with(request, retryCount: retryCount)
    copy.bodyFile = nil
    return copy
  }

  private func with(_ urlRequest: URLRequest, retryCount: Int) -> PrismQueuedRequest {
    var copy = PrismQueuedRequest(
      id: id, urlRequest: urlRequest, createdAt: createdAt, retryCount: retryCount, priority: priority)
    copy.bodyFile = bodyFile
    copy.redirectPolicy = redirectPolicy
    return copy
  }
}
