import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension NetworkManager {
  /// Sends a request and writes the body of its response to a file, which appears under its name as a whole or not at all.
  ///
  /// The body is written to a hidden file beside the destination, as it comes, and moved into place when it is complete
  /// and as long as announced. One that breaks off is kept if the server named its version with a strong entity tag, or
  /// a modification date that counts as one: the next attempt of the request's `retryPolicy`, or the next call, also of
  /// another process, asks for what is missing (`Range`, `If-Range`; RFC 9110 §13.1.5), and for the whole if it is
  /// another version by then. Content codings are not asked for. The request's `Response` is not used, its
  /// `maximumResponseSize` is the limit of the whole file, and its `progress` begins where the file does. An own `Range`
  /// field in the request's headers turns resuming off. The `Accept` field defaults to `*/*`.
  ///
  /// - Parameters:
  ///   - request: What to send. It is read on the caller's actor, once for each attempt.
  ///   - destination: Where the file shall be. Its folder must exist.
  ///   - accessToken: Gives the token for `Authorization: Bearer …`. Defaults to `nil`.
  ///   - options: How to treat the file system. Defaults to ``DownloadOptions/init(existingFile:resumes:synchronizes:)``.
  /// - Returns: What is at the destination now.
  /// - Throws: ``DownloadError`` for the file system, what `send` throws for the request; an error response is read up to
  ///   1 MiB (``StreamingError/errorPayloadTooLarge(limitBytes:)``). `CancellationError` when the task is cancelled; what
  ///   was loaded is then kept as after any interruption.
  @discardableResult
  public nonisolated(nonsending) func download<T: NetworkRequest>(
    _ request: T, to destination: URL, accessToken: (() -> String?)? = nil,
    options: DownloadOptions = DownloadOptions()
  ) async throws -> DownloadedFile {
    try await runner(over: transport).download(
      request, to: destination, options: options, baseURL: baseURL, accessToken: accessToken)
  }
}
