import Foundation

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
  /// The connection was lost after the last byte was sent, and the server no longer knows the upload. It may have been
  /// completed: whether to send the whole file again is the caller's decision.
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
