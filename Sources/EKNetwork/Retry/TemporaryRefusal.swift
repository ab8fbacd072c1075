/// A request that was refused before it was sent, for a while: a retry policy does not repeat it, but what waits for the
/// server to be back need not give it up.
protocol TemporaryRefusal: Error {
  /// For how long, from when it was thrown.
  var retryAfter: Duration { get }
}
