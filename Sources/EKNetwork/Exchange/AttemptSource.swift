import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What is sent, attempt by attempt, whichever interface of the library it comes from.
protocol AttemptSource {
  /// Whether a failed attempt may be followed by another at all.
  var allowsRetry: Bool { get }
  /// Whether each attempt gets a body of its own, so that one that is used up is no hindrance.
  var makesNewBodies: Bool { get }

  /// The request of one attempt.
  func build() throws -> URLRequest

  /// The error of a response whose status is no success.
  func error(of refusal: CollectedResponse) -> any Error

  /// What a failed attempt is to the retry policy, and to the caller.
  func failure(_ error: any Error, of urlRequest: URLRequest) -> any Error
}

/// A ``NetworkRequest``, built for each attempt.
struct TypedAttempts<Request: NetworkRequest>: AttemptSource {
  let request: Request
  let baseURL: () -> URL
  let accessToken: (() -> String?)?
  let userAgent: String?
  let accept: String?

  var allowsRetry: Bool { request.allowsRetry }
  var makesNewBodies: Bool { request.body?.isReplayable ?? true }

  func build() throws -> URLRequest {
    try RequestBuilder.build(
      request, baseURL: baseURL(), accessToken: accessToken?(), userAgent: userAgent, accept: accept)
  }

  func error(of refusal: CollectedResponse) -> any Error {
    ResponseValidation.error(of: refusal, errorDecoder: request.errorDecoder)
  }

  func failure(_ error: any Error, of urlRequest: URLRequest) -> any Error { error }
}
