/// How a byte transport ends before its peer ends it.
enum ByteTransportError: Error, Equatable {
  /// `cancel()` was called, or the last bytes were sent.
  case cancelled
  case failed(String)
  /// Neither libcurl nor Network is there.
  case unavailable
}
