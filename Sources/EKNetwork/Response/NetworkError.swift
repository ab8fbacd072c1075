/// What can go wrong around an exchange that is not the transport's doing.
///
/// Failures of the transport are `URLError`, answers outside 2xx ``HTTPError``.
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
