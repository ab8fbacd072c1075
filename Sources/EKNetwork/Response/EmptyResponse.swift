/// The response of a request that only succeeds or fails. Any body is ignored.
public struct EmptyResponse: Decodable, Equatable, Sendable {
  /// Creates the only value.
  public init() {}

  /// Succeeds for any payload.
  public init(from decoder: any Decoder) throws {}
}
