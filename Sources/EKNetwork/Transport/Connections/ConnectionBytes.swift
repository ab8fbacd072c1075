#if os(Linux)
  import CCurl
  import Foundation

  /// The bytes of an open connection: those of its socket, or with TLS those that libcurl encrypts and decrypts.
  struct ConnectionBytes {
    enum Progress {
      case moved(Int)
      /// The socket has to be ready first.
      case mustWait
      /// The peer has closed its side.
      case closed
      case failed(CurlError.Failure)
    }

    /// The size of what is received, from which on it belongs to a body that arrives quickly.
    private static let largePiece = 4 * 1024

    let socket: Int32
    /// `nil` with neither TLS nor a tunnel: such a connection may last, and does not need them.
    private let handles: CurlHandles?

    /// Whether libcurl has to carry the bytes: with TLS, that of a proxy, too, and in a tunnel, of which it may have read
    /// more than the proxy's response.
    static func needsHandles(_ endpoint: ByteTransportEndpoint) -> Bool {
      endpoint.isSecure || endpoint.proxy.map { $0.isSecure || !endpoint.isForwarded } ?? false
    }

    /// Takes over a connection that libcurl has opened. Returns `nil` if there are no descriptors left.
    ///
    /// Where they are not needed, the handles are closed. libcurl reads from a socket that it closes: it is given another one.
    init?(_ handles: CurlHandles, of endpoint: ByteTransportEndpoint) {
      let bare = ekn_easy_socket(handles.easy)
      guard bare >= 0 else { return nil }
      let needsHandles = Self.needsHandles(endpoint)
      socket = needsHandles ? bare : ekn_socket_replace(bare)
      self.handles = needsHandles ? handles : nil
      guard socket >= 0 else { return nil }
      guard needsHandles else {
        handles.close()
        return
      }
      handles.receiveWithoutLimit()
      // libcurl 7.88 to 8.5 may say here that a peer that has reset the connection has no address.
      if handles.errorText.pointee != 0 {
        handles.errorText.pointee = 0
        handles.noteAlerts()
      }
    }

    /// Whether HTTP/2 was negotiated. Requires that something was sent, or was tried to be received.
    var hasNegotiatedHTTP2: Bool { handles.map { ekn_easy_has_chosen_http2($0.easy) } ?? false }

    /// Whether there may be bytes that have left the socket and have not been received.
    var mayHoldBytes: Bool { handles != nil }

    /// Whether to receive once more before waiting for the socket, which has to be done if TLS may have bytes that have left
    /// it. Behind a large record (RFC 8446 §5.1) there mostly is another one by now, and receiving nothing takes less than
    /// waiting.
    ///
    /// - Parameter count: The number of bytes that were received.
    func mayHaveMore(after count: Int) -> Bool {
      guard let handles else { return false }
      return count >= Self.largePiece || ekn_easy_may_have_input(handles.easy)
    }

    func send(_ bytes: UnsafeRawBufferPointer) -> Progress {
      guard let handles else {
        let count = ekn_socket_send(socket, bytes.baseAddress, bytes.count)
        if count >= 0 { return .moved(count) }
        return count == -Int(EAGAIN) ? .mustWait : .failed(.sending(Int32(-count)))
      }
      var count = 0
      let code = ekn_easy_send(handles.easy, bytes.baseAddress, bytes.count, &count)
      if code == 0 {
        handles.readAhead()
        return .moved(count)
      }
      if code == EKN_AGAIN { return .mustWait }
      let failure = handles.failure(code: Int(code))
      // A server that refuses the client says why, and may reset the connection before it has read everything.
      handles.noteAlerts()
      return .failed(failure)
    }

    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Progress {
      guard let handles else {
        let count = ekn_socket_receive(socket, buffer.baseAddress, buffer.count)
        if count >= 0 { return count == 0 ? .closed : .moved(count) }
        return count == -Int(EAGAIN) ? .mustWait : .failed(.receiving(Int32(-count)))
      }
      var count = 0
      let code = ekn_easy_receive(handles.easy, buffer.baseAddress, buffer.count, &count)
      if code == 0 { return count == 0 ? .closed : .moved(count) }
      return code == EKN_AGAIN ? .mustWait : .failed(handles.failure(code: Int(code)))
    }

    /// Whether nothing has arrived: on an idle connection that would belong to no response (RFC 9112 §6.3), and its end
    /// means that the server is closing it (§9.5). A session ticket of TLS is neither (RFC 8446 §4.6.1).
    var isQuiet: Bool {
      guard mayHoldBytes else { return ekn_socket_is_quiet(socket) }
      var byte: UInt8 = 0
      let progress = withUnsafeMutableBytes(of: &byte) { receive(into: $0) }
      if case .mustWait = progress { return true } else { return false }
    }

    /// Begins to tell an end that TLS announces (RFC 8446 §6.1) from others. Requires that something was received.
    func requireAnnouncedEnd() { if let handles { ekn_easy_require_close_notify(handles.easy) } }

    /// Whether the end is announced, or need not be.
    var isEndAnnounced: Bool { handles.map { ekn_easy_has_close_notify($0.easy) } ?? true }

    /// Whether nothing can be sent before something is received, although the socket is writable: in TLS 1.2 a server may
    /// begin a handshake at any time (RFC 5246 §7.4.1.1). Watching such a socket for output would be a loop.
    var outputNeedsInput: Bool { mayHoldBytes && ekn_socket_is_writable(socket) }

    /// The address of the server, or of the proxy.
    var peerAddress: String? {
      var text = [CChar](repeating: 0, count: 64)
      guard ekn_socket_get_peer(socket, &text, text.count) else { return nil }
      return text.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } }
    }

    func close() {
      if let handles { handles.close() } else { ekn_socket_close(socket) }
    }
  }
#endif

/// The endpoint that a byte transport connects to, with its proxies and TLS options.
struct ByteTransportEndpoint: Sendable, Equatable {
  /// A host name or an IP address, an IPv6 address without brackets; validated by ``HostSyntax``.
  var host: String
  var port: Int
  var isSecure: Bool
  var route = ConnectionRoute()
  #if os(Linux)
    var tls: TLSOptions?
    /// The proxy; `nil` if there is none.
    var proxy: ProxyServer?
    /// Whether HTTP/2 is offered as well as HTTP/1.1 (RFC 7301).
    var offersHTTP2 = false
    /// Whether HTTP is spoken on it, so that a proxy forwards the requests for an `http` URL (RFC 9112 §3.2.2). Otherwise
    /// it opens a tunnel.
    var isForHTTP = false
    /// How long the one that opens it waits for it, in nanoseconds.
    var connectWait = UInt64.max

    /// Whether a proxy forwards the requests.
    var isForwarded: Bool { isForHTTP && proxy?.forwards(isSecure: isSecure) == true }
  #endif

  /// The host as it is written in a URL.
  var hostInURL: String { host.contains(":") ? "[\(host)]" : host }

  /// The URL that stands for it.
  var url: String { "\(isSecure ? "https" : "http")://\(hostInURL):\(port)/" }
}
