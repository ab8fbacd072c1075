import Foundation

/// The errors of a request that do not come from the transport.
///
/// Transport failures are `URLError`, responses outside 2xx are ``HTTPError``.
public enum NetworkError: Error, Equatable {
  /// The URL could not be built, for example because the path contains a `..` segment.
  case invalidURL
  /// The multipart form could not be encoded.
  case invalidMultipartEncoding
  /// A successful response without a body, for a request without an `emptyResponseHandler`.
  case emptyResponse
  /// The server responded with 401, after a token refresh and a retry if there is a refresher.
  case unauthorized
  /// The session returned no response, or one that is not HTTP.
  case invalidResponse
  /// Both `body` and `multipartData` are set.
  case conflictingBodyTypes
}

extension NetworkError: LocalizedError {
  /// A description of the error.
  public var errorDescription: String? {
    switch self {
    case .invalidURL: "The request has no valid URL"
    case .invalidMultipartEncoding: "The multipart form cannot be encoded"
    case .emptyResponse: "The response has no body"
    case .unauthorized: "The server requires authentication"
    case .invalidResponse: "The response is not an HTTP response"
    case .conflictingBodyTypes: "The request has both a body and a multipart form"
    }
  }
}
