import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension URLRequest {
  /// Throws if trailers have to follow the body: no `URLSession` can send them.
  func checkHasNoTrailers() throws(TransportOptionError) {
    guard let body = httpBodyStream as? BodyInputStream, case .sequence(let sequence) = body.source,
      sequence.trailers != nil
    else { return }
    throw TransportOptionError(option: "the trailers of a request", library: "URLSession")
  }

  /// Returns the request for a session outside the library, with a stream that it can read from the start: an earlier
  /// attempt may have read the request's own.
  ///
  /// - Throws: `URLError.requestBodyStreamExhausted` or ``RequestBodyError/alreadySent`` if the body cannot be sent
  ///   again, ``TransportOptionError`` if trailers follow it.
  func withUnreadBody() throws -> URLRequest {
    guard !bodyStreamWasOpened else {
      throw URLError(.requestBodyStreamExhausted, url: url, description: "The body's stream was opened before.")
    }
    try checkHasNoTrailers()
    guard let body = httpBodyStream as? BodyInputStream else { return self }
    if case .sequence(let sequence) = body.source, sequence.isUsedUp { throw RequestBodyError.alreadySent }
    var request = self
    request.httpBodyStream = body.unread
    return request
  }
}
