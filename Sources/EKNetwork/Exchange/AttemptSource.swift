import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The source of a request's attempts, for any of the library's client interfaces.
protocol AttemptSource {
  /// Whether a failed attempt may be followed by another at all.
  var allowsRetry: Bool { get }
  /// Whether each attempt certainly has a new body, so that a consumed one does not prevent a retry.
  var makesNewBodies: Bool { get }

  /// Builds the request of one attempt.
  func build() throws -> URLRequest

  /// Returns the error for a response with an error status.
  func error(of refusal: CollectedResponse) -> any Error

  /// Returns the error of a failed attempt, as the retry policy and the caller receive it.
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
    ResponseValidation.error(of: refusal, to: request)
  }

  func failure(_ error: any Error, of urlRequest: URLRequest) -> any Error { error }
}

/// The attempts of a request to which middleware has made changes.
struct ChangedAttempts: AttemptSource {
  let source: any AttemptSource
  let changes: RequestChanges

  var allowsRetry: Bool { source.allowsRetry }
  var makesNewBodies: Bool { source.makesNewBodies }
  func build() throws -> URLRequest { changes.applied(to: try source.build()) }
  func error(of refusal: CollectedResponse) -> any Error { source.error(of: refusal) }
  func failure(_ error: any Error, of urlRequest: URLRequest) -> any Error { source.failure(error, of: urlRequest) }
}
