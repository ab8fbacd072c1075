/// The method of a request.
public enum PrismNetworkMethod: String, CaseIterable, Sendable {
  /// Retrieves a resource.
  case get = "GET"
  /// Creates a resource.
  case post = "POST"
  /// Replaces a resource.
  case put = "PUT"
  /// Changes a part of a resource (RFC 5789).
  case patch = "PATCH"
  /// Removes a resource.
  case delete = "DELETE"
}
