#if os(Linux)
  /// The options of libcurl's easy handles that are used, by libcurl's names and numbers, which are part of its ABI.
  enum CurlOption: Int32, CaseIterable, Sendable {
    case buffersize = 98
    case cainfo = 10065
    case capath = 10097
    case connectOnly = 141
    case connecttimeoutMs = 156
    case customrequest = 10036
    case errorbuffer = 10010
    case forbidReuse = 75
    case freshConnect = 74
    case headerdata = 10029
    case headerfunction = 20079
    case httpContentDecoding = 158
    case httpVersion = 84
    case httpget = 80
    case httpheader = 10023
    case httpproxytunnel = 61
    case keypasswd = 10026
    case nobody = 44
    case noproxy = 10177
    case nosignal = 99
    case opensocketfunction = 20163
    case pinnedpublickey = 10230
    case pipewait = 237
    case post = 47
    case postfieldsizeLarge = 30120
    case prereqfunction = 20312
    case `private` = 10103
    case protocols = 181
    case protocolsStr = 10318
    case proxy = 10004
    case proxyCainfo = 10246
    case proxypassword = 10176
    case proxyusername = 10175
    case quickExit = 322
    case readdata = 10009
    case readfunction = 20012
    case resolverStartFunction = 20272
    case seekdata = 10168
    case seekfunction = 20167
    case share = 10100
    case sslCtxFunction = 20108
    case sslEnableAlpn = 226
    case sslcert = 10025
    case sslkey = 10087
    case suppressConnectHeaders = 265
    case tcpKeepalive = 213
    case uploadBuffersize = 280
    case url = 10002
    case verbose = 41
    case writedata = 10001
    case writefunction = 20011
    case xferinfofunction = 20219

    /// The option's name in libcurl.
    var name: String {
      String(describing: self).reduce(into: "CURLOPT_") { name, letter in
        if letter.isUppercase { name += "_" }
        name += letter.uppercased()
      }
    }

    /// Whether safety, or the meaning of a request, depends on the option. The others make transfers faster or errors
    /// easier to understand, or replace an option of another version.
    var isRequired: Bool {
      switch self {
      case .buffersize, .capath, .connecttimeoutMs, .errorbuffer, .pipewait, .prereqfunction, .protocolsStr,
        .proxyCainfo, .quickExit, .share, .tcpKeepalive, .uploadBuffersize, .verbose:
        false
      default: true
      }
    }
  }
#endif
