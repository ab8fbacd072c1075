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

extension UploadedFile: Redacted {
  var redacted: String { "\(url.redactedForLog), \(size) bytes, status \(response.statusCode)" }
}

/// The error of an upload that cannot be resumed, or of a server that does not keep to the protocol. It is never retried.
///
/// A file that is changed while it is uploaded is ``RequestBodyError/fileChanged(_:announced:actual:)``.
public enum UploadError: NonRetriableError, LocalizedError, Equatable, Sendable {
  /// The state file cannot be used: its folder does not exist, it belongs to another user, or it is another kind of file,
  /// which is left as it is. `code` is the system's `errno`, or 0 for the last reason.
  case stateNotUsable(URL, code: Int32)
  /// Another upload with the same state file is in progress.
  case alreadyUploading(URL)
  /// A name in the options' `metadata` is empty, or contains a space, a comma or a character outside ASCII.
  case invalidMetadata(name: String)
  /// The server has created the upload, but not said where, or not at an `http` or `https` URL, or at an `http` URL after a
  /// request over `https`. `nil` if there was no `Location`. A server that does not support the protocol does the former.
  case invalidLocation(String?)
  /// A response has no `Upload-Offset`, or one that is not a number.
  case missingOffset
  /// The server's offset is beyond the file or beyond what was sent, or less than what it had acknowledged before.
  case invalidOffset(Int64, acknowledged: Int64, size: Int64)
  /// The server says that the file has another length, or that it is complete although it is not.
  case lengthMismatch(announced: Int64, size: Int64)
  /// The file, or the smallest part of it that can be sent, exceeds a limit of the server: its status is 413, or its
  /// `Upload-Limit` less than the size. `maximum` is the limit, if it is known.
  case tooLarge(size: Int64, maximum: Int64?)
  /// The server does not support version 1.0.0 of tus (412). `supported` is its `Tus-Version`.
  case unsupportedVersion(supported: String?)
  /// The server accepts requests, but its offset does not advance.
  case noProgress(offset: Int64)
  /// The server has lost the upload (404 or 410) three times.
  case uploadLost
  /// The connection was lost after the last byte was sent, in this call or in an earlier one, and the server no longer knows
  /// the upload. It may have been completed: whether to send the whole file again is the caller's decision.
  case outcomeUnknown

  /// A description of the error.
  public var errorDescription: String? {
    switch self {
    case .stateNotUsable(let url, 0): "\(url.path) is not the state of an upload"
    case .stateNotUsable(let url, let code):
      "The state of the upload in \(url.path) cannot be used: \(String(cString: strerror(code)))"
    case .alreadyUploading(let url): "The upload of \(url.path) is in progress already"
    case .invalidMetadata(let name): "\"\(name)\" is not a name of metadata"
    case .invalidLocation(nil): "The server does not say where the upload is"
    case .invalidLocation: "The server's location of the upload cannot be used"
    case .missingOffset: "The server does not say how much of the file it has"
    case .invalidOffset(let offset, let acknowledged, let size):
      "The server has \(offset) bytes of \(size), of which it had acknowledged \(acknowledged)"
    case .lengthMismatch(let announced, let size): "The file has \(size) bytes, but \(announced) for the server"
    case .tooLarge(let size, let maximum?): "\(size) bytes are more than the \(maximum) that the server allows"
    case .tooLarge(let size, nil): "\(size) bytes are more than the server allows"
    case .unsupportedVersion(let supported): "The server supports tus \(supported ?? "in another version than 1.0.0")"
    case .noProgress(let offset): "The upload makes no progress after \(offset) bytes"
    case .uploadLost: "The server has lost the upload several times"
    case .outcomeUnknown: "The server may have completed the upload, which it no longer knows"
    }
  }
}

extension UploadError: Redacted {}
