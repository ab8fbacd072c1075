import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension NetworkManager {
  /// Sends a request and writes the body of its response to a file, which appears under its name only when it is
  /// complete.
  ///
  /// The body is written to a hidden file next to the destination as it arrives, and moved into place when it is
  /// complete and has the announced length. An interrupted download is kept if the server identified the version with a
  /// strong entity tag, or a modification date that counts as one: the next attempt of the request's `retryPolicy`, or
  /// the next call, even in another process, then requests the missing part (`Range`, `If-Range`; RFC 9110 §13.1.5), or
  /// the whole if the version has changed. Content codings are not requested. The request's `Response` is not used; its
  /// `maximumResponseSize` limits the whole file; its `progress` starts at the bytes that the file already has. A
  /// `Range` field in the request's own headers disables resuming. The `Accept` field defaults to `*/*`.
  ///
  /// - Parameters:
  ///   - request: The request to send. It is read on the caller's actor, once for each attempt.
  ///   - destination: The file URL of the destination. Its folder must exist.
  ///   - accessToken: Returns the token for `Authorization: Bearer …`. Defaults to `nil`.
  ///   - options: The options for the file system. Defaults to
  ///     ``DownloadOptions/init(existingFile:resumes:synchronizes:)``.
  /// - Returns: The file at the destination.
  /// - Throws: ``DownloadError`` for the file system, and what `send` throws for the request; of an error response at
  ///   most 1 MiB is read (``StreamingError/errorPayloadTooLarge(limitBytes:)``). `CancellationError` when the task is
  ///   cancelled; the partial file is then kept as after any interruption.
  @discardableResult
  public nonisolated(nonsending) func download<T: NetworkRequest>(
    _ request: T, to destination: URL, accessToken: (() -> String?)? = nil,
    options: DownloadOptions = DownloadOptions()
  ) async throws -> DownloadedFile {
    try await runner(over: transport).download(
      request, to: destination, options: options, baseURL: baseURL, accessToken: accessToken)
  }
}
