#if os(Linux)
  /// The defects and limits of some versions of libcurl, and their workarounds: one case each, with the test that
  /// demonstrates it. The versions were determined from libcurl's source.
  enum CurlDefect: String, CaseIterable, Sendable {
    /// `asyn-thread.c`: removing a transfer waits for the thread that resolves its host name.
    /// Shown by `HangingLookupTests.cancelledLookupDoesNotBlockOthers`.
    case joinsResolver
    /// `asyn-thrdd.c`: freeing a connection pool waits for its resolver threads, of which there are 20 at most.
    /// Shown by `HangingLookupTests.cancelledWebSocketLookupDoesNotBlockOthers`.
    case limitsResolvers
    /// `http_proxy.c`: a proxy's response to `CONNECT` is read within one call, however long it is.
    /// Shown by `ProxyPeerTests.endlessTunnel`.
    case readsEndlessTunnels

    /// The versions that have the defect, up to the first that does not.
    var versions: Range<CurlVersion> {
      switch self {
      case .joinsResolver: Self.always.lowerBound..<CurlVersion(7, 87)
      case .limitsResolvers: CurlVersion(8, 20)..<Self.always.upperBound
      case .readsEndlessTunnels: Self.always
      }
    }

    /// What the library does instead.
    var remedy: String {
      switch self {
      case .joinsResolver: "a cancelled connection is closed on a thread of its own while its host's name is resolved"
      case .limitsResolvers: "up to 256 resolver threads are allowed, and cleanup does not wait for them"
      case .readsEndlessTunnels:
        "libcurl's progress callback ends it after 300 KB, and when the request is cancelled or times out"
      }
    }

    static let always = CurlVersion(0, 0)..<CurlVersion(256, 0)
  }
#endif
