import Foundation

/// A file that was downloaded.
public struct DownloadedFile: Equatable, Sendable {
  /// Where it is.
  public let url: URL
  /// Its size in bytes.
  public let size: Int64
  /// The status of the response that completed it, 416 if nothing was missing; `nil` if the file was there before and was
  /// kept.
  public let statusCode: Int?
  /// The header fields of that response.
  public let headers: [String: String]
  /// How many of the bytes were there when the download began: what an earlier, interrupted one had left.
  public let resumedBytes: Int64

  /// The value of a field, whatever the case of its name.
  public func value(forHTTPHeaderField name: String) -> String? {
    headers.field(name)
  }

  /// A result as the library would return it, for tests.
  public init(
    url: URL, size: Int64, statusCode: Int? = 200, headers: [String: String] = [:], resumedBytes: Int64 = 0
  ) {
    self.url = url
    self.size = size
    self.statusCode = statusCode
    self.headers = headers
    self.resumedBytes = resumedBytes
  }
}
