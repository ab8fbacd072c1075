#if os(Linux)
  import CCurl
  import Foundation
  import FoundationNetworking

  /// A libcurl easy handle. It belongs to the thread that holds the event loop's turn.
  final class CurlHandle {
    let easy: OpaquePointer
    private(set) var transfer: CurlTransfer?
    private let errorText: UnsafeMutablePointer<CChar>
    let resend: UnsafeMutablePointer<ekn_resend>
    private let lookup: UnsafeMutablePointer<ekn_lookup>
    let capabilities: CurlCapabilities
    /// Whether libcurl may put the transfer on a connection that others use.
    private(set) var mayShareConnection = false
    /// The request of an abandoned transfer, which libcurl's options still point to.
    private var abandonedRequest: CurlRequest?
    private var tunnel = TunnelWatch()
    private var wasSentOverHTTP2 = false
    /// Whether TLS must announce the end of the connection, and has not.
    private(set) var lacksEnd = false
    /// The socket that libcurl has asked to watch, and the events that it waits for.
    private(set) var watched: (socket: Int32, what: Int32)?
    unowned let eventLoop: CurlEventLoop

    init?(eventLoop: CurlEventLoop) {
      guard let easy = ekn_easy_init() else { return nil }
      self.easy = easy
      self.eventLoop = eventLoop
      capabilities = eventLoop.capabilities
      errorText = .allocate(capacity: Int(EKN_ERROR_SIZE))
      errorText.initialize(repeating: 0, count: Int(EKN_ERROR_SIZE))
      resend = .allocate(capacity: 1)
      resend.initialize(to: ekn_resend())
      lookup = .allocate(capacity: 1)
      lookup.initialize(to: ekn_lookup())
    }

    deinit {
      ekn_easy_cleanup(easy)
      errorText.deallocate()
      resend.deallocate()
      lookup.deallocate()
    }

    /// Sets every option that the transfer needs, and returns an error if one that matters was refused.
    func prepare(for transfer: CurlTransfer) -> (any Error)? {
      self.transfer = transfer
      errorText.pointee = 0
      resend.pointee = ekn_resend()
      resend.pointee.is_harmless = transfer.request.isIdempotent
      lookup.pointee = ekn_lookup()
      tunnel = TunnelWatch()
      wasSentOverHTTP2 = false
      lacksEnd = false
      watched = nil
      let context = Unmanaged.passUnretained(self).toOpaque()
      var settings = CurlSettings(easy)
      settings.set(.nosignal, 1)
      setProtocols(&settings)
      settings.set(.buffersize, 64 * 1024)
      settings.set(.tcpKeepalive, 1)
      // Connecting is limited by the transfer's own idle timeout; libcurl's limit of 300 s would cut a longer one
      // short.
      settings.set(.connecttimeoutMs, 24 * 3600 * 1000)
      settings.set(.suppressConnectHeaders, 1)
      settings.set(.httpContentDecoding, 0)
      settings.set(.errorbuffer, pointer: errorText)
      settings.set(.private, pointer: context)
      settings.set(.writedata, pointer: context)
      settings.set(.headerdata, pointer: context)
      settings.set(.writefunction, callback: CurlCallbacks.write)
      settings.set(.headerfunction, callback: CurlCallbacks.header)
      watchLookup(&settings)
      watchResend(of: transfer.request, &settings, context: context)
      apply(transfer.request, &settings, context: context)
      if transfer.loopResends.hasResent { settings.set(.freshConnect, 1) }
      return settings.error
    }

    private func setProtocols(_ settings: inout CurlSettings) {
      if capabilities.missingOptions.contains(.protocols) {
        settings.set(.protocolsStr, "http,https")
        if capabilities.missingOptions.contains(.protocolsStr) { settings.note(.protocols, 1) }
      } else {
        settings.set(.protocols, EKN_PROTO_HTTP | EKN_PROTO_HTTPS)
      }
    }

    /// Sets how sockets are opened, and keeps the removal of a handle whose name is being resolved from waiting for the
    /// resolver's thread.
    private func watchLookup(_ settings: inout CurlSettings) {
      settings.note(.opensocketfunction, ekn_easy_open_sockets(easy, lookup))
      if capabilities.joinsResolver {
        settings.note(.resolverStartFunction, ekn_easy_watch_lookup(easy, lookup))
      } else {
        settings.set(.quickExit, 1)
      }
    }

    /// Controls how libcurl sends a request again by itself when a reused connection fails before the response begins.
    private func watchResend(
      of request: CurlRequest, _ settings: inout CurlSettings, context: UnsafeMutableRawPointer
    ) {
      if capabilities.hasPrereqCallback {
        if ekn_easy_set_prereq_callback(easy, CurlCallbacks.prereq, context) != 0 {
          settings.note(.xferinfofunction, 1)
        }
        // Only HTTP/2 has refusals, and only these requests depend on them.
        if request.mayUseHTTP2, !request.isIdempotent { settings.note(.verbose, ekn_easy_watch_resend(easy, resend)) }
      } else if !request.isIdempotent || request.hasExpectation {
        settings.note(.xferinfofunction, ekn_easy_watch_resend(easy, resend))
        settings.note(.xferinfofunction, ekn_easy_stop_resend(easy, resend))
      }
    }

    private func apply(
      _ request: CurlRequest, _ settings: inout CurlSettings, context: UnsafeMutableRawPointer
    ) {
      settings.set(.url, request.url.absoluteString)
      settings.apply(request.isSecure ? request.pool.connection.tls : nil, capabilities.authorities)
      mayShareConnection = request.mayUseHTTP2 && transfer?.loopTrustsOrigin != false
      if mayShareConnection {
        settings.set(.pipewait, 1)
      } else {
        // HTTP/2 is not negotiated here, but some versions believe a status line that claims it.
        settings.set(.httpVersion, Int(EKN_HTTP_VERSION_1_1))
      }
      if request.mayUseTLSProxy || request.isSecure && !capabilities.seesTLSInput { settings.set(.forbidReuse, 1) }
      if let proxies = request.proxies { settings.apply(proxies, isSecure: request.isSecure) }
      if request.mayUseTunnel {
        settings.note(
          .xferinfofunction, ekn_easy_set_progress_callback(easy, CurlCallbacks.progress, context))
      }
      if request.method == "HEAD" {
        settings.set(.nobody, 1)
      } else if let upload = request.upload {
        settings.set(.post, 1)
        settings.set(.uploadBuffersize, upload.length.map { $0 > 64 * 1024 } ?? false ? 256 * 1024 : 64 * 1024)
        settings.set(.postfieldsizeLarge, offset: upload.length ?? -1)
        settings.set(.readdata, pointer: context)
        settings.set(.readfunction, callback: CurlCallbacks.read)
        settings.set(.seekdata, pointer: context)
        settings.note(.seekfunction, ekn_easy_set_seek_callback(easy, CurlCallbacks.seek))
        settings.set(.customrequest, request.method)
      } else {
        settings.set(.httpget, 1)
        if request.method != "GET" { settings.set(.customrequest, request.method) }
      }
      settings.set(.httpheader, pointer: UnsafeRawPointer(request.headerLines?.list))
    }

    /// Whether the server has stated that it has not processed the request, so that it can be sent again.
    var wasRefused: Bool { resend.pointee.is_refused }

    /// Whether the server has stated that it wants the request over HTTP/1.1. Of idempotent requests no log is kept, but
    /// libcurl has then chosen such a connection after one of HTTP/2.
    var needsHTTP1: Bool { resend.pointee.needs_http1 || wasSentOverHTTP2 && mayShareConnection && hasOwnConnection }

    /// Whether the transfer was ended because libcurl was about to send it again.
    var wasStopped: Bool { resend.pointee.must_stop }

    /// Whether a final response head has been received.
    var hasResponse: Bool { resend.pointee.has_response }

    /// The number of bytes of the body that libcurl has counted as sent.
    var sentBodyBytes: Int64 { ekn_easy_info_offset(easy, Int32(EKN_INFO_SIZE_UPLOAD)) }

    /// Whether the last transfer used a connection that another had used before.
    var hasReusedConnection: Bool { ekn_easy_info_long(easy, Int32(EKN_INFO_NUM_CONNECTS)) == 0 }

    /// The output state in the kernel of the transfer's connection, and of those that share it; empty while there is
    /// none.
    var output: ekn_socket_output {
      // libcurl reports a shared socket for one of its transfers only.
      let socket = watched?.socket ?? (mayShareConnection ? transfer?.loopPool?.socket(of: connection) : nil)
      return socket.map(ekn_socket_get_output) ?? ekn_socket_output()
    }

    /// Detaches the handle from its transfer, after which libcurl has no pointer to anything of the transfer.
    func finish() {
      ekn_easy_reset(easy)
      transfer = nil
      abandonedRequest = nil
    }

    /// Whether removing the handle now would wait for a name to be resolved.
    var isResolving: Bool { capabilities.joinsResolver && ekn_lookup_is_running(lookup) }

    /// Notes that no name is being resolved any more.
    func ended() { lookup.pointee.is_running = false }

    /// Detaches the handle from its transfer while its host name may still be being resolved. The handle ends after
    /// that, because it gets no connection any more.
    func abandon() {
      lookup.pointee.is_abandoned = true
      abandonedRequest = transfer?.request
      transfer = nil
      shutDownConnection()
    }

    /// Ends the connection of an abandoned transfer. Through a SOCKS proxy the name is looked up once the connection is
    /// open, and libcurl would send the request over it when the proxy replies.
    private func shutDownConnection() {
      // A resolver's socket is not TCP, and has no port here. No other transfer uses the connection: a libcurl that
      // waits for lookups does not use HTTP/2.
      if let watched, ekn_socket_local_port(watched.socket) > 0 { ekn_socket_shut_down(watched.socket) }
    }

    /// Records the events that libcurl waits for on a socket, and returns those for which the poller has to watch it.
    func watch(_ socket: Int32, _ what: Int32) -> Int32 {
      if what != EKN_POLL_REMOVE {
        watched = (socket, what)
        // The body may be read before libcurl has reported its socket.
        if transfer?.loopIsAwaitingBody == true { notePausedBody() }
        if lookup.pointee.is_abandoned { shutDownConnection() }
      } else if watched?.socket == socket {
        watched = nil
      }
      return capabilities.readsWhilePaused && transfer?.loopIsHeldBack == true ? Self.withoutReading(what) : what
    }

    /// Notes that the body has nothing to send.
    func notePausedBody() {
      guard let transfer, let pool = transfer.loopPool, hasOwnConnection else { return }
      if let socket = watched?.socket ?? pool.socket(of: connection) { pool.bodyPaused(transfer, at: socket) }
    }

    /// Whether the TLS library may have bytes of the connection, which no other transfer uses, that libcurl has not read.
    var hasTLSInput: Bool { ekn_easy_has_tls_input(easy) }

    /// Requires that TLS announces the end of the connection, which is the end of the body: anybody on the way could end it
    /// early (RFC 9112 §9.8).
    func requireAnnouncedEnd() {
      ekn_easy_require_close_notify(easy)
      // libcurl gives up the connection before it reports the end of the transfer, and makes this call before that.
      let context = Unmanaged.passUnretained(self).toOpaque()
      lacksEnd = ekn_easy_set_progress_callback(easy, CurlCallbacks.progress, context) == 0
    }

    /// Notes that libcurl has called, perhaps because the connection has ended.
    func noteEnd() { if lacksEnd { lacksEnd = !ekn_easy_has_close_notify(easy) } }

    /// Notes that libcurl has called, perhaps for a byte of a proxy's response to `CONNECT`.
    func tunnelStep() -> TunnelWatch.Step { tunnel.step(sockets: lookup.pointee.sockets) }

    /// Notes that the request is sent: if there is a tunnel, it is open.
    func isSending() { tunnel.opened() }

    /// Notes the protocol over which the request is sent.
    func noteProtocol() { if mayShareConnection { wasSentOverHTTP2 = !hasOwnConnection } }

    /// Whether libcurl has sent the request.
    var hasSent: Bool { ekn_easy_info_offset(easy, Int32(EKN_INFO_PRETRANSFER_TIME)) > 0 }

    /// Whether no other transfer shares its connection.
    var hasOwnConnection: Bool { !mayShareConnection || ekn_easy_alpn(easy) == EKN_ALPN_OTHER }

    private var connection: CurlConnection {
      CurlConnection(
        localPort: Int32(truncatingIfNeeded: ekn_easy_info_long(easy, Int32(EKN_INFO_LOCAL_PORT))),
        address: ekn_easy_info_string(easy, Int32(EKN_INFO_PRIMARY_IP)),
        port: Int32(truncatingIfNeeded: ekn_easy_info_long(easy, Int32(EKN_INFO_PRIMARY_PORT))))
    }

    private static func withoutReading(_ what: Int32) -> Int32 {
      switch what & ~Int32(EKN_POLL_IN) {
      case Int32(EKN_POLL_NONE): Int32(EKN_POLL_REMOVE)
      case let rest: rest
      }
    }

    /// Returns what went wrong, as libcurl reports it.
    func failure(code: Int) -> CurlError.Failure { CurlError.Failure(code: code, of: easy, errorText: errorText) }
  }
#endif
