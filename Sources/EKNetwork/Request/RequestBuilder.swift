import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The one path from a ``NetworkRequest`` to a `URLRequest`.
enum RequestBuilder {
  /// Reads the request once and makes the `URLRequest` that every transport is given.
  static func build<T: NetworkRequest>(
    _ request: T, baseURL: URL, accessToken: String?, userAgent: String?
  ) throws -> URLRequest {
    throw NetworkError.invalidURL
  }
}
