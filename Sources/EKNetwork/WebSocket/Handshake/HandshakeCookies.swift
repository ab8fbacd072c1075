import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The cookies of a handshake: those of the `http` or `https` URL in the same place (RFC 6455 §4.1).
struct HandshakeCookies {
  private let cookies: SessionCookies?

  init(storage: HTTPCookieStorage?) {
    cookies = storage.map {
      let configuration = URLSessionConfiguration.ephemeral
      configuration.httpCookieStorage = $0
      return SessionCookies(configuration: configuration)
    }
  }

  func apply(to request: inout URLRequest) {
    guard let cookies, let url = request.url, let equivalent = Self.equivalent(of: url) else { return }
    request.url = equivalent
    cookies.apply(to: &request)
    request.url = url
  }

  func store(_ lines: [String], of request: URLRequest) {
    guard let cookies, let url = request.url.flatMap(Self.equivalent(of:)) else { return }
    cookies.store(setCookieLines: lines, for: url, request: request)
  }

  private static func equivalent(of url: URL) -> URL? {
    var parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
    switch url.scheme?.lowercased() {
    case "ws": parts?.scheme = "http"
    case "wss": parts?.scheme = "https"
    default: break
    }
    return parts?.url
  }
}
