import Foundation

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension SessionCookies {
  func store(setCookieLines lines: [String], for url: URL, request: URLRequest? = nil) {
    store(setCookieLines: lines.map { Array($0.utf8) }, for: url, request: request.map { HTTPRequest(of: $0) })
  }
}

extension SetCookieLine {
  init?(_ line: String) { self.init(bytes: Array(line.utf8)) }
}
