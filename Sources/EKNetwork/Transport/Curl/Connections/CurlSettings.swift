#if os(Linux)
  import CCurl
  import Foundation

  /// The options of an easy handle. It records the first required option that was refused.
  struct CurlSettings {
    private let easy: OpaquePointer
    private(set) var refused: CurlOption?

    init(_ easy: OpaquePointer) { self.easy = easy }

    mutating func set(_ option: CurlOption, _ value: Int) {
      note(option, ekn_easy_set_long(easy, option.rawValue, value))
    }

    mutating func set(_ option: CurlOption, offset: Int64) {
      note(option, ekn_easy_set_offset(easy, option.rawValue, offset))
    }

    /// Sets a string option; `nil` changes nothing.
    mutating func set(_ option: CurlOption, _ value: String?) {
      if let value { note(option, ekn_easy_set_string(easy, option.rawValue, value)) }
    }

    mutating func set(_ option: CurlOption, pointer: UnsafeRawPointer?) {
      note(option, ekn_easy_set_pointer(easy, option.rawValue, pointer))
    }

    mutating func set(_ option: CurlOption, callback: @escaping ekn_data_callback) {
      note(option, ekn_easy_set_data_callback(easy, option.rawValue, callback))
    }

    /// Records the result of a libcurl call that sets an option.
    mutating func note(_ option: CurlOption, _ code: Int32) {
      if code != 0, refused == nil, option.isRequired { refused = option }
    }

    /// The reason why the transfer must not begin; `nil` if it may.
    var error: TransportOptionError? {
      refused.map { TransportOptionError(option: $0.name, library: "libcurl \(CurlLibrary.versionText)") }
    }
  }

  extension TLSOptions {
    /// The corresponding options of libcurl.
    var curlOptions: [(option: CurlOption, value: String)] {
      var options: [(CurlOption, String?)] = [
        (.cainfo, certificateAuthorityFile?.path),
        (.sslcert, clientCertificate?.certificateFile.path),
        (.sslkey, clientCertificate?.keyFile.path),
        // Without a password OpenSSL would prompt for one on the terminal, blocking the event loop's thread.
        (.keypasswd, clientCertificate.map { $0.keyPassword ?? "" }),
      ]
      if !pinnedPublicKeys.isEmpty {
        options.append((.pinnedpublickey, pinnedPublicKeys.sorted().map { "sha256//\($0)" }.joined(separator: ";")))
      }
      return options.compactMap { option, value in value.map { (option, $0) } }
    }
  }

  extension SessionProxies {
    /// Returns the corresponding options of libcurl for a request.
    func curlOptions(isSecure: Bool) -> [(option: CurlOption, value: String)] {
      // An empty string keeps libcurl from using the environment.
      let options: [(CurlOption, String)] = [(.proxy, (isSecure ? secure : plain) ?? ""), (.noproxy, exceptions)]
      guard let user else { return options }
      return options + [(.proxyusername, user), (.proxypassword, password ?? "")]
    }
  }

  /// The length of a proxy's response to `CONNECT` (RFC 9110 §9.3.6). libcurl reads it within one call, and calls back for
  /// each byte, and at other times: both count, until the request is sent.
  struct TunnelWatch {
    enum Step {
      case proceed
      /// The event loop may not have run for a while: check what it would have checked.
      case check
      /// The response is too long.
      case end
    }

    static let maximumSize = ResponseHeadRules.maximumSize
    private static let checkInterval = 1024

    private var size = 0
    private var isOpen = false
    private var sockets: UInt32 = 0

    init() {}

    /// - Parameter sockets: The number of sockets that were opened: another connection may need another tunnel.
    mutating func step(sockets count: UInt32) -> Step {
      if count != sockets {
        self = TunnelWatch()
        sockets = count
      }
      guard !isOpen else { return .proceed }
      size += 1
      if size > Self.maximumSize { return .end }
      return size % Self.checkInterval == 0 ? .check : .proceed
    }

    mutating func opened() { isOpen = true }

    static func error(url: URL) -> any Error {
      CurlError.make(
        .dataLengthExceedsMaximum, "The proxy's response to CONNECT is longer than \(maximumSize) bytes", url: url)
    }
  }

  extension CurlSettings {
    /// Trusts the system's authorities, unless the options specify a file of others.
    mutating func apply(_ tls: TLSOptions?, _ authorities: CurlAuthorities) {
      if !authorities.usesFolder(with: tls) { set(.capath, pointer: nil) }
      set(.proxyCainfo, authorities.file)
      set(.cainfo, authorities.file)
      for (option, value) in tls?.curlOptions ?? [] { set(option, value) }
    }

    mutating func apply(_ proxies: SessionProxies, isSecure: Bool) {
      for (option, value) in proxies.curlOptions(isSecure: isSecure) { set(option, value) }
    }
  }
#endif
