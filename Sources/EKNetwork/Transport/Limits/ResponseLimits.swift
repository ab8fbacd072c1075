import Foundation

/// The limits of a request for its response.
struct ResponseLimits: Hashable, Sendable {
  /// The size up to which a body may inflate without limit: a page of blanks is not an attack.
  static let inflationAllowance: Int64 = 1024 * 1024

  /// The maximum size in bytes, with content codings removed.
  var size: Int64?
  /// The maximum number of decoded bytes for each received one. Only the library's own transport knows what was
  /// received.
  var inflation: Int?
  /// Whether the body of a redirect that is the result is read: `false` if only its `Location` matters.
  var readsRedirects = true

  /// Negative limits count as zero.
  init(size: Int64? = nil, inflation: Int? = nil, readsRedirects: Bool = true) {
    self.size = size.map { max(0, $0) }
    self.inflation = inflation.map { max(0, $0) }
    self.readsRedirects = readsRedirects
  }

  /// Returns the response with these limits applied. An announced length is checked at once, but only fails a response
  /// that is accepted: the status of every other one is useful without its body, and so is a 401, after which the token
  /// is refreshed.
  func applied(
    to response: TransportResponse, of request: HTTPRequest, accepted: StatusCodes = .successful
  ) throws -> TransportResponse {
    guard let size else { return response }
    // The length of an encoded body says nothing about the decoded one, which is counted as it is read.
    if let announced = response.head.contentLength, announced > size,
      ContentCoding.names(response.head.value("content-encoding")).isEmpty,
      response.head.hasBody(method: request.method)
    {
      response.body.cancel()
      let error = ResponseLimitError(limit: .size(size), announcedSize: announced, url: request.url)
      let isRead = readsRedirects || !response.head.isRedirect
      let isNeeded = response.head.isAccepted(accepted) && response.head.statusCode != 401
      guard !isRead || !isNeeded else { throw error }
      var refused = response
      refused.body = FailedBody(error)
      return refused
    }
    var limited = response
    let error = ResponseLimitError(limit: .size(size), url: request.url)
    limited.body = LimitedBody(response.body, limit: size, orThrow: error)
    return limited
  }
}

/// A body that throws an error when it becomes longer than its request allows.
///
/// Unchecked: `count` is only used by `next()`, which has one caller at a time.
final class LimitedBody: WrappingBody, @unchecked Sendable {
  let body: any TransportBody
  private let limit: Int64
  private let error: any Error
  private var count: Int64 = 0

  init(_ body: any TransportBody, limit: Int64, orThrow error: any Error) {
    self.body = body
    self.limit = limit
    self.error = error
  }

  func next() async throws -> Data? {
    guard let chunk = try await body.next() else { return nil }
    count += Int64(chunk.count)
    guard count <= limit else {
      body.cancel()
      throw error
    }
    return chunk
  }
}

/// A body that throws an error when it is read.
final class FailedBody: TransportBody {
  let error: any Error

  init(_ error: any Error) { self.error = error }

  func next() async throws -> Data? { throw error }

  func cancel() {}
}

/// An error thrown when a response is larger than its request allows. It is never retried.
public struct ResponseLimitError: NonRetriableError, LocalizedError, Redacted, Equatable, Sendable {
  /// The limits that a response can exceed.
  public enum Limit: Equatable, Sendable {
    /// The request's `maximumResponseSize`, in bytes.
    case size(Int64)
    /// The request's `maximumInflation`.
    case inflation(Int)
  }

  /// The limit that was exceeded.
  public let limit: Limit
  /// The number of bytes that the server announced, if that already exceeded the limit.
  public let announcedSize: Int64?
  /// The URL that was being loaded.
  public let url: URL?

  /// Creates an error as the library throws it, for tests.
  public init(limit: Limit, announcedSize: Int64? = nil, url: URL? = nil) {
    self.limit = limit
    self.announcedSize = announcedSize
    self.url = url
  }

  /// A description of the limit that was exceeded, and of the announced size if that is known.
  public var errorDescription: String? { reason }

  /// The ``errorDescription`` and the URL, which is what `print` shows. Of the query only the names are shown.
  public var description: String { redacted }

  var redacted: String { url.map { "\(reason): \($0.redactedForLog)" } ?? reason }

  private var reason: String {
    switch limit {
    case .size(let size):
      announcedSize.map { "The response has \($0) bytes, of which \(size) are allowed" }
        ?? "The response has more than the \(size) bytes that are allowed"
    case .inflation(let factor):
      "The response's content inflates to more than \(factor) times its encoded size"
    }
  }
}

extension ResponseLimitError: ClassifiedError {
  var failureKind: FailureKind { .permanent }
}
