/// What a ``HARRecorder`` keeps, and how much of it.
public struct HAROptions: Sendable, Equatable {
  /// Whether secrets are kept as they are. Defaults to `false`: the values of header fields that hold credentials are
  /// left out, each value in a URL's query is replaced by a salted digest, and of a request's body only its size and a
  /// digest are kept. A token cannot be found from its digest; a short value, such as a PIN, can be found by trying.
  ///
  /// The bodies of responses are kept as they are, since they are what is replayed: set ``maximumBodySize`` to 0 where
  /// they are secret.
  public var revealsSecrets: Bool
  /// The most bytes that are kept of one body, content codings undone. Defaults to 1 MiB. What is longer is cut off
  /// there, marked, and not replayed.
  public var maximumBodySize: Int
  /// The most exchanges that are kept. Defaults to 1,000. Beyond it the oldest is dropped.
  public var maximumEntries: Int
  /// The most bytes that all exchanges have together: bodies, header fields and URLs. Defaults to 64 MiB. Beyond it the
  /// oldest are dropped.
  public var maximumSize: Int

  /// Options; negative numbers count as 0.
  public init(
    revealsSecrets: Bool = false, maximumBodySize: Int = 1024 * 1024, maximumEntries: Int = 1000,
    maximumSize: Int = 64 * 1024 * 1024
  ) {
    self.revealsSecrets = revealsSecrets
    self.maximumBodySize = maximumBodySize
    self.maximumEntries = maximumEntries
    self.maximumSize = maximumSize
  }
}
