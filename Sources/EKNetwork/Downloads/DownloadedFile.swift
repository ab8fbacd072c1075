import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A file that was downloaded.
public struct DownloadedFile: ResponseHeaderFields, Equatable, Sendable {
  /// The location of the file.
  public let url: URL
  /// The size of the file in bytes.
  public let size: Int64
  /// The status of the response that completed the file, 416 if nothing was missing; `nil` if an existing file was
  /// kept.
  public let statusCode: Int?
  /// The header fields of that response.
  public let headers: [String: String]
  private var received = ReceivedFields()
  /// The number of bytes that an earlier, interrupted download had left.
  public let resumedBytes: Int64

  /// Returns the value of a field; the case of its name does not matter.
  public func value(forHTTPHeaderField name: String) -> String? {
    headers.field(name)
  }

  init(url: URL, size: Int64, response: HTTPURLResponse?, resumedBytes: Int64) {
    self.init(
      url: url, size: size, statusCode: response?.statusCode, headers: response?.headerDictionary ?? [:],
      resumedBytes: resumedBytes)
    received = ReceivedFields(response)
  }

  /// The header fields in order, repeated ones separate if they were received so.
  public var headerFields: HeaderFieldList { received.list(or: headers) }

  /// Creates a result as the library would return it, for tests.
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
