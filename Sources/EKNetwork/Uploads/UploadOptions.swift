import Foundation

/// Options that control how a file is uploaded so that the upload can be resumed.
public struct UploadOptions: Equatable, Sendable {
  /// The protocols that resume uploads. The server must support the one that is used.
  public enum ResumptionProtocol: String, CaseIterable, Sendable {
    /// "Resumable Uploads for HTTP" (draft-ietf-httpbis-resumable-upload, interop version 8).
    case draft
    /// tus 1.0.0: its core, creation and termination (https://tus.io/protocols/resumable-upload).
    case tus
  }

  /// The protocol.
  public var resumptionProtocol: ResumptionProtocol
  /// The file URL of a small file that remembers the upload, so that it is resumed by a later call, even in another process.
  /// Defaults to `nil`: it is only resumed by the retries of the same call.
  ///
  /// Its folder must exist. The file can be read by its owner only, is written atomically, belongs to one upload at a time,
  /// and is removed when that is complete. An upload that it remembers is only resumed with the same file, unchanged, to the
  /// same URL, with the same protocol, and by the same user; otherwise a new upload replaces it.
  public var state: URL?
  /// The maximum number of bytes in one request. Defaults to `nil`: all that is missing, as far as the server's
  /// `Upload-Limit` allows. Values below 1 count as 1.
  ///
  /// Set it for servers, or servers in front of them, that limit the size of a request, or that only keep whole requests.
  public var chunkSize: Int64?
  /// An identifier of the user to whom an upload in ``state`` belongs. Defaults to `nil`: the user is identified by the
  /// credentials and cookies that are sent, so that an upload is not resumed with another access token, not even with a
  /// renewed one.
  ///
  /// Only a salted digest of it is written to the file. It also makes an upload resumable by another process behind attempt
  /// middleware, a session's delegate or a custom session, whose credentials the library does not know.
  public var account: String?
  /// The properties of the file that tus sends when the upload is created (`Upload-Metadata`), such as `filename` and
  /// `filetype`. Names must not be empty, and contain no space and no comma. Defaults to none. The draft has header fields
  /// for this purpose: `Content-Type` and `Content-Disposition`.
  public var metadata: [String: String]

  /// Creates options; parameters that are left out have their defaults.
  public init(
    using resumptionProtocol: ResumptionProtocol, state: URL? = nil, chunkSize: Int64? = nil, account: String? = nil,
    metadata: [String: String] = [:]
  ) {
    self.resumptionProtocol = resumptionProtocol
    self.state = state
    self.chunkSize = chunkSize
    self.account = account
    self.metadata = metadata
  }
}

/// A file that was uploaded.
public struct UploadedFile: Equatable, Sendable {
  /// The URL of the upload on the server, without user and password. It may be temporary.
  public let url: URL
  /// The size of the file in bytes.
  public let size: Int64
  /// The number of bytes that the server had from an earlier call.
  public let resumedBytes: Int64
  /// The response that completed the upload: with the draft, that of the resource that the file was meant for (§4.4). If an
  /// earlier one was lost, it is the one that says that the upload is complete. Its body is empty if it could not be read,
  /// within 10 seconds and the request's `maximumResponseSize` (1 MiB without one): the file was uploaded nevertheless.
  public let response: NetworkResponse

  /// Creates a result as the library would return it, for tests.
  public init(
    url: URL, size: Int64, resumedBytes: Int64 = 0, response: NetworkResponse = NetworkResponse(statusCode: 204)
  ) {
    self.url = url
    self.size = size
    self.resumedBytes = resumedBytes
    self.response = response
  }
}
