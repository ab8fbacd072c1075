#if os(Linux)
  import CCurl
  import Foundation

  /// The libcurl handles of one bare connection. They belong to the loop's thread until they are closed.
  ///
  /// Unchecked: `close` is called once, by the last user.
  final class CurlHandles: @unchecked Sendable {
    let easy: OpaquePointer
    let opening: OpeningMulti
    /// Whether others open their connections there, too.
    private let isShared: Bool
    let errorText: UnsafeMutablePointer<CChar>
    let lookup: UnsafeMutablePointer<ekn_lookup>
    private let joinsResolver: Bool
    private var readsAhead = false
    private let setup: UnsafeMutablePointer<ekn_tls_setup>
    /// The version of the authorities that are trusted, if they can be shared.
    private var authorities: AuthoritiesVersion?
    /// The addresses of the host, if they were given.
    private var resolved: OpaquePointer?

    /// Returns `nil` if there is not enough memory.
    ///
    /// - Parameter shared: Where to open the connection, if it does not need the handles any more when it is open; `nil`
    ///   for a multi handle of its own, among whose connections libcurl does not have to look for it.
    init?(joinsResolver: Bool, shared: OpeningMulti?) {
      guard let easy = ekn_easy_init() else { return nil }
      guard let opening = shared ?? OpeningMulti() else {
        ekn_easy_cleanup(easy)
        return nil
      }
      self.easy = easy
      self.opening = opening
      isShared = shared != nil
      self.joinsResolver = joinsResolver
      errorText = .allocate(capacity: Int(EKN_ERROR_SIZE))
      errorText.initialize(repeating: 0, count: Int(EKN_ERROR_SIZE))
      lookup = .allocate(capacity: 1)
      lookup.initialize(to: ekn_lookup())
      setup = .allocate(capacity: 1)
      setup.initialize(to: ekn_tls_setup())
    }

    deinit {
      for reference in [setup.pointee.authorities, setup.pointee.loaded].compactMap({ $0 }) {
        ekn_authorities_release(reference)
      }
      setup.deallocate()
      errorText.deallocate()
      lookup.deallocate()
    }

    /// Sets the options of the connection, and returns an error if libcurl refused a required one.
    ///
    /// - Parameters:
    ///   - names: The addresses that it shares with others on its thread.
    ///   - progress: Is called for each byte of a proxy's response to `CONNECT`, and returns whether to stop.
    func configure(
      _ endpoint: ByteTransportEndpoint, _ capabilities: CurlCapabilities, names: OpaquePointer?,
      progress: ekn_progress_callback, context: UnsafeMutableRawPointer
    ) -> (any Error)? {
      var settings = CurlSettings(easy)
      settings.set(.private, pointer: context)
      settings.set(.freshConnect, 1)
      // Only proxies' responses are read into it.
      settings.set(.buffersize, 1024)
      // Where another thread may close the handles, they share nothing.
      if let names, !capabilities.joinsResolver { settings.set(.share, pointer: UnsafeRawPointer(names)) }
      settings.set(.url, endpoint.url)
      settings.set(.nosignal, 1)
      settings.set(.connectOnly, 1)
      // libcurl 7.88 crashes in a bare connection on which it has negotiated HTTP/2, and newer ones speak it themselves.
      settings.set(.httpVersion, Int(EKN_HTTP_VERSION_1_1))
      let route = endpoint.route
      // A proxy with TLS, and the server that looks up names, would be prepared in the same way.
      let isServerOnly = endpoint.isSecure && endpoint.proxy?.isSecure != true && route.dnsOverHTTPS == nil
      if capabilities.sharesAuthorities, isServerOnly {
        authorities = capabilities.authorities.version(with: endpoint.tls)
      }
      setup.pointee.notes_request = isServerOnly && endpoint.tls?.clientCertificate == nil
      setup.pointee.offers_http2 = endpoint.offersHTTP2
      setup.pointee.authorities = authorities.flatMap { SharedAuthorities.ofProcess.reference(to: $0) }
      setup.pointee.keeps_authorities = authorities != nil
      if endpoint.offersHTTP2 { settings.set(.sslEnableAlpn, 0) }
      if endpoint.offersHTTP2 || authorities != nil {
        settings.note(.sslCtxFunction, ekn_easy_prepare_tls(easy, setup))
      }
      settings.set(.httpproxytunnel, endpoint.isForwarded ? 0 : 1)
      settings.set(.tcpKeepalive, 1)
      settings.note(.xferinfofunction, ekn_easy_set_progress_callback(easy, progress, context))
      settings.note(.opensocketfunction, ekn_easy_open_sockets(easy, lookup))
      if capabilities.joinsResolver {
        settings.note(.resolverStartFunction, ekn_easy_watch_lookup(easy, lookup))
      } else {
        settings.set(.quickExit, 1)
      }
      settings.set(.connecttimeoutMs, Self.limit(for: endpoint.connectWait))
      settings.set(.errorbuffer, pointer: errorText)
      // The one that looks up names is verified by the same authorities.
      settings.apply(
        endpoint.isSecure || route.dnsOverHTTPS != nil ? endpoint.tls : nil, capabilities,
        loads: setup.pointee.authorities == nil)
      settings.apply(endpoint.proxy)
      if let addresses = route.addresses(of: endpoint.host) {
        let list = addresses.map { $0.utf8.contains(UInt8(ascii: ":")) ? "[\($0)]" : $0 }.joined(separator: ",")
        resolved = ekn_list_of("\(endpoint.host):\(endpoint.port):\(list)")
        if resolved == nil { settings.refuse(.resolve) }
      }
      settings.apply(route, resolved: resolved)
      // The handles in which libcurl asks for names do not tell when their own lookups begin.
      if capabilities.joinsResolver, route.dnsOverHTTPS != nil { lookup.pointee.is_running = true }
      return settings.error
    }

    static let longestLimit = 24 * 3600 * 1000

    /// Returns libcurl's limit, in milliseconds, for a connection that is waited for that many nanoseconds. It must not be
    /// far beyond the caller's: before it has cf-ip-happy.c, libcurl leaves an address that is silent for the next one of
    /// its family only after half of the limit. It must be later, for the caller's own limit decides, and one that ends a
    /// lookup would wait for the resolver. Half of the least is the time after which a lost SYN is repeated (RFC 6298 §2).
    static func limit(for wait: UInt64) -> Int {
      let milliseconds = Int(clamping: wait / 1_000_000)
      return min(max(milliseconds + milliseconds / 4, 2_000), longestLimit)
    }

    /// Keeps the authorities that libcurl has loaded for the next connections.
    func shareAuthorities() {
      guard let authorities, let loaded = setup.pointee.loaded else { return }
      setup.pointee.loaded = nil
      SharedAuthorities.ofProcess.keep(loaded, as: authorities)
    }

    /// Returns why the connection could not be opened, as libcurl reports it.
    func failure(code: Int) -> CurlError.Failure {
      var failure = CurlError.Failure(code: code, of: easy, errorText: errorText)
      failure.lacksCertificate = setup.pointee.was_requested
      return failure
    }

    /// Prefers an alert of TLS, which may still be received, to an error that came before it (RFC 8446 §6.2).
    func noteAlerts() { ekn_easy_note_alerts(easy, errorText) }

    /// Lets as much be received at once as there is space for, after the connection was opened: before 8.7, libcurl limits that
    /// to the size of its own buffer, although it does not use that, and a record of TLS would take 16 calls.
    func receiveWithoutLimit() { _ = ekn_easy_set_long(easy, CurlOption.buffersize.rawValue, 512 * 1024) }

    /// Makes TLS read what is there at once. Requires that something was sent.
    func readAhead() {
      guard !readsAhead else { return }
      readsAhead = true
      ekn_easy_read_ahead(easy)
    }

    /// Closes the connection. If libcurl would block until a name is resolved, a separate thread does it, on which
    /// nothing may be called back: the transport may be gone by then.
    func close() {
      guard joinsResolver, lookup.pointee.is_running, removeCallbacks() else { return destroy() }
      let thread = Thread { self.destroy() }
      thread.name = "EKNetwork.Closing"
      thread.stackSize = 1 << 18
      thread.start()
    }

    /// Removes the callbacks, and returns whether libcurl has accepted that.
    func removeCallbacks() -> Bool {
      (isShared || opening.removeCallbacks()) && ekn_easy_set_progress_callback(easy, nil, nil) == 0
    }

    private func destroy() {
      opening.remove(easy)
      ekn_easy_cleanup(easy)
      if !isShared { opening.close() }
      ekn_list_free(resolved)
      resolved = nil
    }
  }

  /// The versions of the files with the authorities that a connection trusts.
  struct AuthoritiesVersion: Hashable {
    private let files: [String]
    private let stamps: [FileStamp?]

    /// Has to be taken before the files are read: then what was read can only be newer.
    init(files: [String]) {
      self.files = files
      stamps = files.map { FileStamp(path: $0) }
    }

    var isEmpty: Bool { stamps.allSatisfy { $0 == nil } }
  }

  /// The certificate authorities that connections have loaded, for those that trust the same files in the same versions.
  /// Those of a system take each connection 20 ms and a megabyte otherwise.
  final class SharedAuthorities: Sendable {
    static let ofProcess = SharedAuthorities()
    static let limit = 8

    /// The latest come last. Each has a reference.
    private let kept = Locked<[(version: AuthoritiesVersion, authorities: OpaquePointer)]>([])

    /// Returns a new reference; `nil` if there are none.
    func reference(to version: AuthoritiesVersion) -> OpaquePointer? {
      kept.withLock { kept in
        guard let index = kept.firstIndex(where: { $0.version == version }),
          ekn_authorities_retain(kept[index].authorities)
        else { return nil }
        kept.append(kept.remove(at: index))
        return kept.last?.authorities
      }
    }

    /// Takes over a reference.
    func keep(_ authorities: OpaquePointer, as version: AuthoritiesVersion) {
      let surplus = kept.withLock { kept -> OpaquePointer? in
        guard !kept.contains(where: { $0.version == version }) else { return authorities }
        kept.append((version, authorities))
        return kept.count > Self.limit ? kept.removeFirst().authorities : nil
      }
      if let surplus { ekn_authorities_release(surplus) }
    }
  }
#endif
