/// An error for a request that was refused before it was sent, for a limited time: a retry policy does not repeat it,
/// but code that waits for the server to recover need not give up.
protocol TemporaryRefusal: Error {
  /// The duration of the refusal, from when the error was thrown.
  var retryAfter: Duration { get }
}
