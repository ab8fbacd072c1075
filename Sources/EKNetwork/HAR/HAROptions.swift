/// Options for what a ``HARRecorder`` records, and how much of it.
public struct HAROptions: Sendable, Equatable {
  /// Whether secrets are recorded unredacted. Defaults to `false`: the value of a header field with credentials is
  /// `<redacted>`, with a salted fingerprint of it in `_fingerprints` (for Basic credentials, of the user name only);
  /// each value in a URL's query is replaced by a salted digest; of a request's body only the size and a digest are
  /// recorded. The salt is in the file: a token cannot be recovered from its digest, but a short value, such as a PIN
  /// or a short key, can be found by brute force.
  ///
  /// Response bodies are recorded unredacted, because they are replayed: set ``maximumBodySize`` to 0 if they are
  /// secret.
  public var revealsSecrets: Bool
  /// The maximum number of bytes recorded of one body, after content decoding. Defaults to 1 MiB. A longer body is
  /// truncated, marked, and not replayed.
  public var maximumBodySize: Int
  /// The maximum number of exchanges. Defaults to 1,000. Beyond it the oldest is dropped.
  public var maximumEntries: Int
  /// The maximum total size of all exchanges in bytes: bodies, header fields and URLs. Defaults to 64 MiB. Beyond it
  /// the oldest are dropped.
  public var maximumSize: Int

  /// Creates options; negative numbers count as 0.
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
