/// The response of a request whose success says it all. Whatever body the server sends is ignored.
public struct EmptyResponse: Decodable, Equatable, Sendable {
  /// The one value there is.
  public init() {}

  /// Succeeds for any payload.
  public init(from decoder: any Decoder) throws {}
}
