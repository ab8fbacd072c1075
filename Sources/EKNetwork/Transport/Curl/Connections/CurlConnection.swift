#if os(Linux)
  /// What libcurl tells about a connection. Only valid during a callback or until the next call to libcurl.
  struct CurlConnection {
    let localPort: Int32
    /// The address and the port of the peer, which may be a proxy.
    let address: UnsafePointer<CChar>?
    let port: Int32
  }
#endif
