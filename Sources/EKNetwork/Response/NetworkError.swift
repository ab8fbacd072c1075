import Foundation

/// What can go wrong around an exchange that is not the transport's doing.
///
/// Failures of the transport are `URLError`, responses outside 2xx ``HTTPError``.
public enum NetworkError: Error, Equatable {
  /// The URL could not be made, for example because the path holds a `..` segment.
  case invalidURL
  /// The multipart form could not be encoded.
  case invalidMultipartEncoding
  /// A success without a body, where the request has no `emptyResponseHandler`.
  case emptyResponse
  /// The server responded with 401, after the refresh and the retry if there was a refresher.
  case unauthorized
  /// The session returned no response, or one that is not HTTP.
  case invalidResponse
  /// Both `body` and `multipartData` are set.
  case conflictingBodyTypes
}

extension NetworkError: LocalizedError {
  /// What happened, in a sentence.
  public var errorDescription: String? {
    switch self {
    case .invalidURL: "The request has no valid URL"
    case .invalidMultipartEncoding: "The multipart form cannot be encoded"
    case .emptyResponse: "The response has no body"
    case .unauthorized: "The server requires authentication"
    case .invalidResponse: "The response is no HTTP response"
    case .conflictingBodyTypes: "The request has both a body and a multipart form"
    }
  }
}
