import Foundation

/// The proxies of a session's `connectionProxyDictionary`, by the keys that CFNetwork documents (`HTTPEnable`,
/// `HTTPProxy`, `HTTPPort`, the same for `HTTPS` and `SOCKS`, `ExceptionsList`, `kCFProxyUsernameKey`,
/// `kCFProxyPasswordKey`).
///
/// A session with a dictionary uses only the proxies in it: an empty one means no proxy.
struct SessionProxies: Sendable, Hashable {
  /// The proxy for `http` URLs, as a URL without credentials.
  let plain: String?
  /// The proxy for `https` URLs, which are tunnelled through it with `CONNECT` (RFC 9110 §9.3.6).
  let secure: String?
  /// The hosts that are connected to directly: names, `.suffix`, addresses, separated by commas.
  let exceptions: String
  let user: String?
  let password: String?
  /// Chooses others for each request.
  let chooser: ProxyChooser?
  /// Whether the proxy has no host or port that could be one.
  let isInvalid: Bool

  /// Creates proxies of which one is for all hosts.
  init(scheme: String, host: String, port: Int, user: String?, password: String?) {
    let host = HostSyntax.unbracketed(host)
    // RFC 3986 §3.2.2.
    let url = "\(scheme)://\(host.contains(":") ? "[\(host)]" : host):\(port)"
    (plain, secure, exceptions) = (url, url, "")
    self.user = user
    self.password = password
    chooser = nil
    isInvalid = !HostSyntax.isValid(host) || !(1...65_535).contains(port)
  }

  init(chooser: ProxyChooser) {
    (plain, secure, exceptions, user, password) = (nil, nil, "", nil, nil)
    self.chooser = chooser
    isInvalid = false
  }

  init(_ dictionary: [AnyHashable: Any]) {
    func text(_ key: String) -> String? {
      (dictionary[key] as? String).flatMap { $0.isEmpty ? nil : $0 }
    }
    func number(_ key: String) -> Int? {
      switch dictionary[key] {
      case let number as Int: number
      case let flag as Bool: flag ? 1 : 0
      case let number as NSNumber: number.intValue
      default: nil
      }
    }
    func proxy(_ kind: String, scheme: String, defaultPort: Int) -> String? {
      guard let enabled = number("\(kind)Enable"), enabled != 0, let host = text("\(kind)Proxy") else { return nil }
      let port = number("\(kind)Port").flatMap { (1...65_535).contains($0) ? $0 : nil } ?? defaultPort
      // RFC 3986 §3.2.2.
      let literal = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
      return "\(scheme)://\(literal):\(port)"
    }
    // The proxy resolves host names: those behind it may not be resolvable here.
    let socks = proxy("SOCKS", scheme: "socks5h", defaultPort: 1080)
    plain = proxy("HTTP", scheme: "http", defaultPort: 80) ?? socks
    secure = proxy("HTTPS", scheme: "http", defaultPort: 443) ?? socks
    exceptions = (dictionary["ExceptionsList"] as? [String] ?? [])
      .map { $0.hasPrefix("*.") ? String($0.dropFirst()) : $0 }
      .joined(separator: ",")
    chooser = nil
    isInvalid = false
    user = text("kCFProxyUsernameKey")
    password = text("kCFProxyPasswordKey")
  }
}
