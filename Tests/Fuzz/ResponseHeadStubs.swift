import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// What `ResponseHead` needs for Foundation's responses and for properties that the parser does not use. The originals
// depend on half of the library.

enum RetryAfter {
  static func delay(_: String, now _: Date) -> Duration? { fatalError() }
}

extension HTTPURLResponse {
  var headerDictionary: [String: String] { fatalError() }
}

extension URLError {
  init(_: Code, url _: URL?, description _: String) { fatalError() }
}

extension URL {
  var withoutCredentials: URL { fatalError() }
}
