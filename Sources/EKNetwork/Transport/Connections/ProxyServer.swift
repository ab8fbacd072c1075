#if os(Linux)
  import Foundation

  /// The proxy through which an origin is reached. Which one that is, is decided here, and not by libcurl, whose versions
  /// differ: a request for an `http` URL is another one to a proxy.
  struct ProxyServer: Hashable, Sendable {
    /// Its URL, as libcurl takes it: without a scheme it is one of HTTP, and it may contain the credentials.
    let url: String
    let user: String?
    let password: String?

    private var scheme: String {
      url.range(of: "://").map { url[..<$0.lowerBound].lowercased() } ?? "http"
    }

    /// Whether it is connected to with TLS.
    var isSecure: Bool { scheme == "https" }

    /// Whether it takes the requests for a URL, which only those for `http` URLs are (RFC 9112 §3.2.2). Others open a
    /// tunnel, or speak SOCKS.
    ///
    /// - Parameter isSecure: Whether the URL's scheme is `https`.
    func forwards(isSecure: Bool) -> Bool { !isSecure && (scheme == "http" || self.isSecure) }

    /// The `Proxy-Authorization` of such a request (RFC 7617 §2).
    var authorization: String? { credentials.map { "Basic " + $0.base64EncodedString() } }

    private var credentials: Data? {
      if let user { return Data("\(user):\(password ?? "")".utf8) }
      let authority = url.range(of: "://").map { url[$0.upperBound...] } ?? url[...]
      guard let end = authority.prefix(while: { $0 != "/" }).lastIndex(of: "@") else { return nil }
      let parts = authority[..<end].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      // The bytes, which need not be UTF-8, as libcurl sends them.
      let password = parts.count > 1 ? PercentEncoding.decoded(parts[1]) : []
      return Data(PercentEncoding.decoded(parts[0]) + [UInt8(ascii: ":")] + password)
    }
  }

  extension SessionProxies? {
    /// Those that are chosen for an origin, or always the same.
    func chosen(forHost host: String, port: Int, isSecure: Bool) throws -> SessionProxies? {
      guard let chooser = self?.chooser else { return self }
      let endpoint = ByteTransportEndpoint(host: host, port: port, isSecure: isSecure)
      // Not a proxy that was not chosen.
      guard let origin = URL(string: endpoint.url) else {
        throw URLError(.badURL, url: nil, description: "No proxy can be chosen for this host")
      }
      return chooser.proxies(for: origin)
    }

    /// Returns the proxy of a host, without brackets; `nil` if it is connected to directly.
    ///
    /// - Parameter isDirect: Whether there can be none: see ``ConnectionRoute``.
    /// - Throws: `URLError.badURL` if the proxy cannot be one.
    func server(for host: String, isSecure: Bool, isDirect: Bool = false) throws -> ProxyServer? {
      guard !isDirect else { return nil }
      guard let self else { return EnvironmentProxies.ofProcess.server(for: host, isSecure: isSecure) }
      guard !self.isInvalid else {
        throw URLError(.badURL, url: nil, description: "The host or the port of the proxy is not valid")
      }
      guard let url = isSecure ? self.secure : self.plain, !ProxyExceptions(self.exceptions).contains(host) else {
        return nil
      }
      return ProxyServer(url: url, user: self.user, password: self.user.map { _ in self.password ?? "" })
    }
  }

  /// The proxies that the environment names, as curl reads them.
  struct EnvironmentProxies: Sendable {
    private let plain: String?
    private let secure: String?
    private let exceptions: ProxyExceptions

    static let ofProcess = EnvironmentProxies(ProcessInfo.processInfo.environment)

    init(_ environment: [String: String]) {
      func first(_ names: String...) -> String? { names.lazy.compactMap { environment[$0] }.first { !$0.isEmpty } }
      // Not `HTTP_PROXY`: in a CGI script that is the `Proxy` field of a request.
      plain = first("http_proxy", "all_proxy", "ALL_PROXY")
      secure = first("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
      exceptions = ProxyExceptions(first("no_proxy", "NO_PROXY") ?? "")
    }

    func server(for host: String, isSecure: Bool) -> ProxyServer? {
      guard let url = isSecure ? secure : plain, !exceptions.contains(host) else { return nil }
      return ProxyServer(url: url, user: nil, password: nil)
    }
  }

  /// The hosts that are connected to directly, in the form of `no_proxy`: names, which stand for their subdomains, too, and
  /// addresses, perhaps with the length of a prefix, separated by commas or blanks; `*` for all.
  struct ProxyExceptions: Sendable {
    private let entries: [Substring]

    init(_ text: String) { entries = text.lowercased().split { $0 == "," || $0.isWhitespace } }

    func contains(_ host: String) -> Bool {
      guard !entries.isEmpty else { return false }
      if entries == ["*"] { return true }
      let name = Self.withoutDot(host.lowercased().prefix { $0 != "%" })
      let address = Self.address(name)
      return entries.contains { entry in
        if let address { return Self.covers(entry, address) }
        let suffix = Self.withoutDot(entry.first == "." ? entry.dropFirst() : entry)
        return !suffix.isEmpty && (name == suffix || name.hasSuffix("." + suffix))
      }
    }

    private static func withoutDot(_ name: Substring) -> Substring { name.last == "." ? name.dropLast() : name }

    /// Whether an entry is an address, or stands for those of a network (RFC 4632 §3.1, RFC 4291 §2.3).
    private static func covers(_ entry: Substring, _ address: [UInt8]) -> Bool {
      let parts = entry.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
      guard let network = Self.address(parts[0]), network.count == address.count else { return false }
      guard parts.count == 2 else { return network == address }
      guard let length = Int(parts[1]), (0...network.count * 8).contains(length) else { return false }
      return zip(network, address).enumerated().allSatisfy { index, bytes in
        let mask = UInt8(truncatingIfNeeded: 0xFF00 >> min(max(0, length - index * 8), 8))
        return bytes.0 & mask == bytes.1 & mask
      }
    }

    /// The bytes of an address, which may be in brackets; `nil` for a name.
    private static func address(_ text: Substring) -> [UInt8]? {
      HostSyntax.address(HostSyntax.unbracketed(String(text)))
    }
  }
#endif
