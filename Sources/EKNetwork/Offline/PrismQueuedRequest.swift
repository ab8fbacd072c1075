import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A request that waits in a ``PrismOfflineQueue``.
public struct PrismQueuedRequest: Sendable, Identifiable {
  /// Names the request, in every attempt and every run of the program.
  public let id: UUID
  /// What is to be sent.
  public let urlRequest: URLRequest
  /// When it was made.
  public let createdAt: Date
  /// How often it was tried in vain.
  public let retryCount: Int
  /// Requests of a higher priority go first.
  public let priority: Int
  /// What happens when the server redirects, where ``PrismQueueDelivery/manager(_:accessToken:)`` sends the request.
  /// Defaults to ``RedirectPolicy/follow``.
  public var redirectPolicy = RedirectPolicy.follow

  /// A request for a queue.
  ///
  /// - Parameters:
  ///   - id: Defaults to a new one.
  ///   - urlRequest: What is to be sent.
  ///   - createdAt: Defaults to now.
  ///   - retryCount: Defaults to 0.
  ///   - priority: Defaults to 0. Requests of one priority go in the order of their arrival.
  public init(
    id: UUID = UUID(), urlRequest: URLRequest, createdAt: Date = Date(), retryCount: Int = 0, priority: Int = 0
  ) {
    self.id = id
    self.urlRequest = urlRequest
    self.createdAt = createdAt
    self.retryCount = max(0, retryCount)
    self.priority = priority
  }

  /// The file that holds the body, where that is not in ``urlRequest``. It is read when the request is sent.
  public internal(set) var bodyFile: URL?

  /// The same after one more attempt in vain.
  var failedOnceMore: PrismQueuedRequest {
    with(urlRequest, retryCount: retryCount < .max ? retryCount + 1 : retryCount)
  }

  /// As it is handed to be sent: with an `Idempotency-Key` that is the same each time, unless it has one of its own.
  func forSending() throws(RequestBodyError) -> PrismQueuedRequest {
    var request = urlRequest
    if request.value(forHTTPHeaderField: "Idempotency-Key") == nil {
      request.setValue(id.uuidString, forHTTPHeaderField: "Idempotency-Key")
    }
    if let bodyFile {
      request.httpBodyStream = BodyInputStream(.segments([.file(try FileSegment(bodyFile))]))
    } else if let body = request.httpBodyStream as? BodyInputStream {
      // What an earlier attempt has read is not the body.
      request.httpBodyStream = body.unread
    }
    return with(request, retryCount: retryCount)
  }

  /// The same with its file open, so that it can be removed; `nil` when it cannot be opened.
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
