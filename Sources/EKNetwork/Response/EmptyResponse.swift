/// A response whose value a call need not use: `send` does not warn if it is unused. Types of your own may conform as well.
public protocol DiscardableResponse: Decodable {}

/// The response of a request that only succeeds or fails. Any body is ignored.
public struct EmptyResponse: DiscardableResponse, Decodable, Equatable, Sendable {
  /// Creates the only value.
  public init() {}

  /// Succeeds for any payload.
  public init(from decoder: any Decoder) throws {}
}
