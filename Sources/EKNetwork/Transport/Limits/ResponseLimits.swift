import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// How much of a response its request takes.
struct ResponseLimits: Sendable {
  /// A small body may inflate as it likes: a page of blanks is no attack.
  static let inflationAllowance: Int64 = 1024 * 1024

  /// Bytes, content codings undone.
  var size: Int64?
  /// Decoded bytes for each received one. Where it is known what was received: on the library's own transport.
  var inflation: Int?

  /// The response as far as it is allowed. What is announced is judged at once, but for an error, whose status is worth
  /// something without its body.
  func applied(to response: TransportResponse, of request: URLRequest) throws -> TransportResponse {
    guard let size else { return response }
    // The length of an encoded body says nothing of the decoded one, which is counted as it comes.
    if let announced = response.head.contentLength, announced > size,
      response.head.value("content-encoding") == nil, response.head.hasBody(method: request.httpMethod)
    {
      response.body.cancel()
      let error = ResponseLimitError(limit: .size(size), announcedSize: announced, url: request.url)
      guard response.head.isError else { throw error }
      var refused = response
      refused.body = FailedBody(error)
      return refused
    }
    var limited = response
    limited.body = LimitedBody(response.body, limit: size, url: request.url)
    return limited
  }
}
