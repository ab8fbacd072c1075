import Foundation

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
