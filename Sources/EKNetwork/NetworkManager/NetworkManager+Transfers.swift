import Foundation

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

  /// Uploads a file so that an interruption does not start it from the beginning: a lost connection, an error of the server,
  /// and, with ``UploadOptions/state``, the end of the process.
  ///
  /// The request says where and how the upload is created: usually a POST. It is sent without a body; the server's
  /// response has the URL of the upload (`Location`), to which the file is then sent with PATCH, and of which HEAD requests the
  /// number of bytes that the server has (draft-ietf-httpbis-resumable-upload §4.2 to §4.4; tus 1.0.0, "Creation" and "Core
  /// protocol"). The header fields of the request, its timeouts and its redirect policy apply to all of these; fields that
  /// describe the file, such as `Content-Type`, and `Idempotency-Key` only to the first. If the upload's URL has another
  /// origin, neither the access token nor the credentials of the session are sent to it, nor fields named after
  /// credentials.
  ///
  /// ```swift
  /// let uploaded = try await manager.upload(
  ///   CreateVideo(), fromFile: video, options: UploadOptions(using: .tus, state: folder.appendingPathComponent("video.upload")))
  /// ```
  ///
  /// After a failure the request's `retryPolicy` decides about another attempt, which asks for the offset first. Attempts
  /// that have advanced it do not count as retries. A 401 refreshes the token, in each attempt once; if the server has
  /// accepted bytes since, the next attempt follows at once, unless `allowsRetry` is `false`. An upload that the server has lost
  /// (404, 410) is created again, at most twice. The `progress` starts at the server's offset.
  /// The request's `Response` and its `acceptedStatuses` are not used; it must have no body. Middleware around calls sees
  /// each attempt as one call.
  ///
  /// - Parameters:
  ///   - request: The request that creates the upload. It is read on the caller's actor, once for each attempt.
  ///   - file: The file URL of the file, which must not change meanwhile.
  ///   - accessToken: Returns the token for `Authorization: Bearer …`; called for each attempt. Defaults to `nil`.
  ///   - options: The protocol, and where the upload is remembered.
  /// - Returns: The upload, and the response that completed it.
  /// - Throws: ``UploadError``; ``RequestBodyError`` if the file cannot be read, or is changed meanwhile: a later call then
  ///   uploads the new version from its beginning; ``NetworkError/conflictingBodyTypes`` if the request has a body; and what
  ///   `send` throws for the request. `CancellationError` at once when the task is cancelled; the upload can then be resumed
  ///   as after any interruption.
  @discardableResult
  public nonisolated(nonsending) func upload<T: NetworkRequest>(
    _ request: T, fromFile file: URL, accessToken: (() -> String?)? = nil, options: UploadOptions
  ) async throws -> UploadedFile {
    try await runner(over: transport).upload(
      request, from: file, options: options, baseURL: baseURL, accessToken: accessToken)
  }

  /// Cancels an upload that ``UploadOptions/state`` remembers: the server can delete what it has (draft §4.5; tus 1.0.0,
  /// "Termination"), and the state file is removed.
  ///
  /// Nothing is sent if there is no state file, or if it remembers an upload of another request, protocol or user; such a
  /// file is kept.
  ///
  /// - Parameters:
  ///   - request: The request that has created the upload. Its `retryPolicy` applies.
  ///   - accessToken: Returns the token for `Authorization: Bearer …`; called for each attempt. Defaults to `nil`.
  ///   - options: Those of the upload; only its protocol, state and account matter.
  /// - Returns: Whether the server still had the upload.
  /// - Throws: ``UploadError/alreadyUploading(_:)`` while it is in progress,
  ///   ``UploadError/stateNotUsable(_:code:)``, and what `send` throws for the request, after which the state file is kept.
  ///   `CancellationError` when the task is cancelled.
  @discardableResult
  public nonisolated(nonsending) func cancelUpload<T: NetworkRequest>(
    _ request: T, accessToken: (() -> String?)? = nil, options: UploadOptions
  ) async throws -> Bool {
    try await runner(over: transport).cancelUpload(
      request, options: options, baseURL: baseURL, accessToken: accessToken)
  }
}
