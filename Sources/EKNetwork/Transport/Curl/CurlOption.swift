#if os(Linux)
  /// The options of libcurl's easy handles that are used, by libcurl's names and numbers, which are part of its ABI.
  enum CurlOption: Int32, CaseIterable, Sendable {
    case abstractUnixSocket = 10264
    case buffersize = 98
    case cainfo = 10065
    case capath = 10097
    case connectOnly = 141
    case connecttimeoutMs = 156
    case errorbuffer = 10010
    case dohUrl = 10279
    case freshConnect = 74
    case httpVersion = 84
    case httpproxytunnel = 61
    case interface = 10062
    case keypasswd = 10026
    case noproxy = 10177
    case nosignal = 99
    case opensocketfunction = 20163
    case pinnedpublickey = 10230
    case `private` = 10103
    case proxy = 10004
    case proxyCainfo = 10246
    case proxypassword = 10176
    case proxyusername = 10175
    case quickExit = 322
    case resolve = 10203
    case resolverStartFunction = 20272
    case share = 10100
    case sslCtxFunction = 20108
    case sslEnableAlpn = 226
    case sslcert = 10025
    case sslkey = 10087
    case sslversion = 32
    case tcpKeepalive = 213
    case unixSocketPath = 10231
    case url = 10002
    case xferinfofunction = 20219

    /// The option's name in libcurl.
    var name: String {
      String(describing: self).reduce(into: "CURLOPT_") { name, letter in
        if letter.isUppercase { name += "_" }
        name += letter.uppercased()
      }
    }

    /// Whether safety depends on the option. The others make connections faster or errors easier to understand, or replace
    /// an option of another version.
    var isRequired: Bool {
      switch self {
      case .buffersize, .capath, .connecttimeoutMs, .errorbuffer, .proxyCainfo, .quickExit, .share, .tcpKeepalive:
        false
      default: true
      }
    }
  }
#endif
