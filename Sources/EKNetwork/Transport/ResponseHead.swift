import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Status and header fields of a response, from Foundation or, still unparsed, from libcurl.
struct ResponseHead: Sendable {
  /// The response, as Foundation's type.
  let urlResponse: URLResponse

  init(_ response: URLResponse) { urlResponse = response }

  /// The status code; `nil` for a response that is not HTTP.
  var statusCode: Int? { (urlResponse as? HTTPURLResponse)?.statusCode }

  /// The value of a field, whatever the case of its name; repeated fields are joined with `", "`.
  func value(_ name: String) -> String? {
    (urlResponse as? HTTPURLResponse)?.value(forHTTPHeaderField: name)
  }

  /// The announced length of the body.
  var contentLength: Int64? { value("Content-Length").flatMap { Int64($0) } }
}
