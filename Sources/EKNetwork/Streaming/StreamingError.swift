/// What can go wrong before a stream begins.
public enum StreamingError: Error, Equatable, Sendable {
  /// The response was not an HTTP response.
  case invalidResponse
  /// The body of a response outside 2xx was longer than the limit up to which it is read.
  case errorPayloadTooLarge(limitBytes: Int)
}
