#if os(Linux)
  import CCurl
  import Foundation
  import FoundationNetworking

  /// A reusable libcurl easy handle. Belongs to whoever holds the event loop's turn.
  final class CurlHandle {
    let easy: OpaquePointer
    private(set) var transfer: CurlTransfer?
    private let errorText: UnsafeMutablePointer<CChar>
    /// Whether the server has refused a request that must not be sent twice, without having looked at it.
    private let refusal: UnsafeMutablePointer<ekn_refusal>
    /// Whether libcurl says when it begins to send (7.80).
    private(set) var reportsSending = false
    private unowned let eventLoop: CurlEventLoop

    init?(eventLoop: CurlEventLoop) {
      guard let easy = ekn_easy_init() else { return nil }
      self.easy = easy
      self.eventLoop = eventLoop
      errorText = .allocate(capacity: Int(EKN_ERROR_SIZE))
      errorText.initialize(repeating: 0, count: Int(EKN_ERROR_SIZE))
      refusal = .allocate(capacity: 1)
      refusal.initialize(to: ekn_refusal())
    }

    deinit {
      ekn_easy_cleanup(easy)
      errorText.deallocate()
      refusal.deallocate()
    }

    /// Sets every option that the transfer needs. A reset keeps connections, names and TLS sessions.
    func prepare(for transfer: CurlTransfer) {
      self.transfer = transfer
      errorText.pointee = 0
      refusal.pointee = ekn_refusal()
      let context = Unmanaged.passUnretained(self).toOpaque()
      ekn_easy_reset(easy)
      set(EKN_OPT_NOSIGNAL, 1)
      set(EKN_OPT_PROTOCOLS, EKN_PROTO_HTTP | EKN_PROTO_HTTPS)
      set(EKN_OPT_BUFFERSIZE, 64 * 1024)
      set(EKN_OPT_TCP_KEEPALIVE, 1)
      // Connecting is under the transfer's own idle timeout; libcurl's limit of 300 s would cut a longer one short.
      set(EKN_OPT_CONNECTTIMEOUT_MS, 24 * 3600 * 1000)
      // Without it, removing a handle whose name is being resolved waits for the resolver thread.
      set(EKN_OPT_QUICK_EXIT, 1)
      set(EKN_OPT_SUPPRESS_CONNECT_HEADERS, 1)
      set(EKN_OPT_HTTP_CONTENT_DECODING, 0)
      // libcurl sends a request again by itself when a reused connection dies before the answer begins.
      reportsSending = ekn_easy_set_prereq_callback(easy, prereqCallback, context) == 0
      // With a CApath, libcurl cannot cache the parsed CA bundle: 16 ms for each new connection.
      _ = ekn_easy_set_pointer(easy, Int32(EKN_OPT_CAPATH), nil)
      _ = ekn_easy_set_pointer(easy, Int32(EKN_OPT_ERRORBUFFER), errorText)
      _ = ekn_easy_set_pointer(easy, Int32(EKN_OPT_PRIVATE), context)
      _ = ekn_easy_set_pointer(easy, Int32(EKN_OPT_WRITEDATA), context)
      _ = ekn_easy_set_pointer(easy, Int32(EKN_OPT_HEADERDATA), context)
      _ = ekn_easy_set_data_callback(easy, Int32(EKN_OPT_WRITEFUNCTION), writeCallback)
      _ = ekn_easy_set_data_callback(easy, Int32(EKN_OPT_HEADERFUNCTION), headerCallback)
      apply(transfer.request, context: context)
      if transfer.loopHasResent { set(EKN_OPT_FRESH_CONNECT, 1) }
    }

    private func apply(_ request: CurlRequest, context: UnsafeMutableRawPointer) {
      _ = ekn_easy_set_string(easy, Int32(EKN_OPT_URL), request.url.absoluteString)
      if request.isSecure {
        set(EKN_OPT_PIPEWAIT, 1)
        if let tls = request.pool.tls { apply(tls) }
        // Only HTTP/2 has refusals, and only these requests need to know of them.
        if !request.isIdempotent { ekn_easy_watch_refusal(easy, refusal) }
      }
      if let proxies = request.proxies { apply(proxies, isSecure: request.isSecure) }
      if request.method == "HEAD" {
        set(EKN_OPT_NOBODY, 1)
      } else if let upload = request.upload {
        set(EKN_OPT_POST, 1)
        set(EKN_OPT_UPLOAD_BUFFERSIZE, upload.length.map { $0 > 64 * 1024 } ?? false ? 256 * 1024 : 64 * 1024)
        _ = ekn_easy_set_offset(easy, Int32(EKN_OPT_POSTFIELDSIZE_LARGE), upload.length ?? -1)
        _ = ekn_easy_set_pointer(easy, Int32(EKN_OPT_READDATA), context)
        _ = ekn_easy_set_data_callback(easy, Int32(EKN_OPT_READFUNCTION), readCallback)
        _ = ekn_easy_set_pointer(easy, Int32(EKN_OPT_SEEKDATA), context)
        _ = ekn_easy_set_seek_callback(easy, seekCallback)
        _ = ekn_easy_set_string(easy, Int32(EKN_OPT_CUSTOMREQUEST), request.method)
      } else {
        set(EKN_OPT_HTTPGET, 1)
        if request.method != "GET" { _ = ekn_easy_set_string(easy, Int32(EKN_OPT_CUSTOMREQUEST), request.method) }
      }
      _ = ekn_easy_set_pointer(easy, Int32(EKN_OPT_HTTPHEADER), UnsafeRawPointer(request.headerLines.list))
    }

    private func apply(_ tls: TLSOptions) {
      func set(_ option: Int, _ value: String?) {
        if let value { _ = ekn_easy_set_string(easy, Int32(option), value) }
      }
      set(EKN_OPT_CAINFO, tls.certificateAuthorityFile?.path)
      if !tls.pinnedPublicKeys.isEmpty {
        set(EKN_OPT_PINNEDPUBLICKEY, tls.pinnedPublicKeys.sorted().map { "sha256//\($0)" }.joined(separator: ";"))
      }
      set(EKN_OPT_SSLCERT, tls.clientCertificate?.certificateFile.path)
      set(EKN_OPT_SSLKEY, tls.clientCertificate?.keyFile.path)
      set(EKN_OPT_KEYPASSWD, tls.clientCertificate?.keyPassword)
    }

    private func apply(_ proxies: SessionProxies, isSecure: Bool) {
      // An empty string keeps libcurl from looking at the environment.
      _ = ekn_easy_set_string(easy, Int32(EKN_OPT_PROXY), (isSecure ? proxies.secure : proxies.plain) ?? "")
      _ = ekn_easy_set_string(easy, Int32(EKN_OPT_NOPROXY), proxies.exceptions)
      guard let user = proxies.user else { return }
      _ = ekn_easy_set_string(easy, Int32(EKN_OPT_PROXYUSERNAME), user)
      _ = ekn_easy_set_string(easy, Int32(EKN_OPT_PROXYPASSWORD), proxies.password ?? "")
    }

    /// Whether the server has said that it has not looked at the request, so that it can be sent again.
    var wasRefused: Bool { refusal.pointee.refused }

    /// Whether the last transfer went over a connection that another had used before.
    var hasReusedConnection: Bool { ekn_easy_info_long(easy, Int32(EKN_INFO_NUM_CONNECTS)) == 0 }

    /// Takes the handle off its transfer. Nothing of the transfer's stays reachable from libcurl.
    func finish() {
      ekn_easy_reset(easy)
      transfer = nil
    }

    /// What went wrong, in libcurl's words.
    func failure(code: Int) -> CurlError.Failure {
      let text = String(cString: errorText)
      return CurlError.Failure(
        code: code,
        text: text.isEmpty ? String(cString: ekn_easy_strerror(Int32(code))) : text,
        proxyStatus: ekn_easy_info_long(easy, Int32(EKN_INFO_HTTP_CONNECTCODE)),
        systemError: ekn_easy_info_long(easy, Int32(EKN_INFO_OS_ERRNO)),
        verifyResult: ekn_easy_info_long(easy, Int32(EKN_INFO_SSL_VERIFYRESULT)))
    }

    private func set(_ option: Int, _ value: Int) {
      _ = ekn_easy_set_long(easy, Int32(option), value)
    }

    // MARK: - Callbacks, in a turn of the event loop, inside a call of libcurl's

    fileprivate func received(_ bytes: UnsafeRawBufferPointer) -> Int {
      guard let transfer else { return 0 }
      transfer.loopLastActivity = eventLoop.now
      eventLoop.markDirty(transfer)
      if transfer.loopReceivedBody(bytes) { eventLoop.deliver(transfer) }
      return bytes.count
    }

    fileprivate func receivedLine(_ bytes: UnsafeRawBufferPointer) -> Int {
      guard let transfer else { return 0 }
      transfer.loopLastActivity = eventLoop.now
      switch transfer.loopParser.line(bytes) {
      case .none: return bytes.count
      case .head(let head):
        transfer.loopReceivedHead(head)
        eventLoop.responded(transfer, isHTTP2: transfer.loopIsHTTP2)
        eventLoop.markDirty(transfer)
        return bytes.count
      case .failure(let code, let text):
        transfer.loopFailure = CurlError.make(code, text, url: transfer.request.url)
        return 0
      }
    }

    fileprivate func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
      guard let transfer, let upload = transfer.request.upload else { return Int(EKN_READFUNC_ABORT) }
      transfer.loopLastActivity = eventLoop.now
      switch upload.read(into: buffer) {
      case .bytes(let count):
        transfer.loopSent(count)
        return count
      case .end: return 0
      case .pending:
        transfer.loopPauseBits |= Int(EKN_PAUSE_SEND)
        return Int(EKN_READFUNC_PAUSE)
      case .failed(let error):
        transfer.loopFailure = error
        return Int(EKN_READFUNC_ABORT)
      }
    }

    /// Called before each time that the request is sent.
    fileprivate func isAboutToSend(port: Int32) -> Int32 {
      guard let transfer, transfer.loopMaySend(wasRefused: wasRefused) else { return Int32(EKN_PREREQFUNC_ABORT) }
      eventLoop.sent(transfer, port: port)
      refusal.pointee = ekn_refusal()
      return Int32(EKN_PREREQFUNC_OK)
    }

    fileprivate func seek(to offset: Int64) -> Int32 {
      guard offset == 0, let upload = transfer?.request.upload, upload.rewind() else { return Int32(EKN_SEEKFUNC_FAIL) }
      transfer?.loopRewound()
      return Int32(EKN_SEEKFUNC_OK)
    }
  }

  private func handle(_ context: UnsafeMutableRawPointer?) -> CurlHandle? {
    context.map { Unmanaged<CurlHandle>.fromOpaque($0).takeUnretainedValue() }
  }

  private let writeCallback: ekn_data_callback = { data, size, count, context in
    handle(context)?.received(UnsafeRawBufferPointer(start: data, count: size * count)) ?? 0
  }

  private let headerCallback: ekn_data_callback = { data, size, count, context in
    handle(context)?.receivedLine(UnsafeRawBufferPointer(start: data, count: size * count)) ?? 0
  }

  private let readCallback: ekn_data_callback = { data, size, count, context in
    handle(context)?.read(into: UnsafeMutableRawBufferPointer(start: data, count: size * count))
      ?? Int(EKN_READFUNC_ABORT)
  }

  private let prereqCallback: ekn_prereq_callback = { context, _, _, _, port in
    handle(context)?.isAboutToSend(port: port) ?? Int32(EKN_PREREQFUNC_ABORT)
  }

  private let seekCallback: ekn_seek_callback = { context, offset, origin in
    handle(context)?.seek(to: origin == SEEK_SET ? offset : -1) ?? Int32(EKN_SEEKFUNC_FAIL)
  }
#endif
