import Foundation

extension NetworkManager {
  /// Sends a request and returns its response as it was received: whatever its status, unless another set is accepted.
  ///
  /// The request is built, redirected and retried as for `send`, and a 401 refreshes the token first; the request's
  /// `Response`, its decoders and its ``NetworkRequest/acceptedStatuses`` are not used. A response whose status is
  /// accepted is not retried. Its body must be complete.
  ///
  /// ```swift
  /// let response = try await manager.response(to: GetUser(id: "42"))
  /// if response.statusCode == 404 { return nil }
  /// let cookies = response.values(for: "Set-Cookie")
  /// ```
  ///
  /// - Parameters:
  ///   - request: The request to send. It is read on the caller's actor, once for each attempt.
  ///   - statuses: The statuses of which a response is returned; every other one is thrown as an error, as `send` does.
  ///     Defaults to ``StatusCodes/any``.
  ///   - accessToken: Returns the token for `Authorization: Bearer …`; called for each attempt. Defaults to `nil`.
  /// - Throws: What `send` throws, except the errors of decoding.
  public nonisolated(nonsending) func response<T: NetworkRequest>(
    to request: T, accepting statuses: StatusCodes = .any, accessToken: (() -> String?)? = nil
  ) async throws -> NetworkResponse {
    let response = try await runner(over: transport).fetch(
      request, accepting: statuses, baseURL: baseURL, accessToken: accessToken
    ).response
    // A type that ignores its content also accepts one that cannot be decoded.
    if let error = response.readError { throw error }
    return NetworkResponse(response)
  }
}
