#if os(Linux)
  import CCurl
  import Foundation
  import FoundationNetworking

  /// A transport over libcurl, or over the library's own HTTP/1.1 on connections that libcurl opens, for sessions that
  /// are configured but not customised with code.
  struct CurlTransport: Transport {
    private let eventLoops: CurlEventLoops
    private let configuration: SessionSettings
    private let tls: TLSOptions?
    private let headerFields = CurlHeaderFields()
    private let choice: HTTP1Choice
    /// The session whose connections are limited. It is retained, so that no other session gets its address.
    private let session: any AnyObject & Sendable

    private final class UnnamedSession: Sendable {}

    /// Returns `nil` if libcurl cannot be used.
    ///
    /// - Parameters:
    ///   - session: The session, whose transports share one connection limit; `nil` for a session with this transport
    ///     alone.
    init?(
      configuration: URLSessionConfiguration, tls: TLSOptions? = nil, session: (any AnyObject & Sendable)? = nil,
      eventLoops: CurlEventLoops = .shared, speaksHTTP1: Bool = Self.speaksHTTP1ByDefault
    ) {
      guard CurlLibrary.capabilities != nil else { return nil }
      self.eventLoops = eventLoops
      self.session = session ?? UnnamedSession()
      self.tls = tls
      self.configuration = SessionSettings(configuration, tls: tls)
      let proxies = self.configuration.proxies
      let isOn = speaksHTTP1 && ekn_bare_load()
      choice = HTTP1Choice(
        isOn: isOn,
        // A proxy that is connected to with TLS would be offered HTTP/2 as well.
        speaksHTTP2: isOn && Self.speaksHTTP2ByDefault && !(proxies == nil && EnvironmentProxies.hasTLS),
        mayUseHTTPProxy: proxies.map { $0.plain?.hasPrefix("http:") == true } ?? EnvironmentProxies.hasPlain)
    }

    var resolvesRedirects: Bool { false }
    var resourceTimeout: Duration? { configuration.resourceTimeout }
    var implementation: TransportDescription? { .current }
    var sessionSettings: SessionSettings { configuration }
    var connectionSettings: ConnectionSettings {
      ConnectionSettings(trust: tls.map { .options($0) } ?? .system, proxies: configuration.proxies)
    }

    func start(_ request: TransportRequest) async throws -> TransportResponse {
      let curlRequest = try curlRequest(request)
      guard let eventLoop = eventLoops.loop(for: curlRequest.origin) else {
        throw CurlEventLoops.startError
      }
      let transfer = CurlTransfer(curlRequest, eventLoop: eventLoop)
      let body = CurlBody(transfer)
      let head = try await transfer.start()
      if choice.isOn, !curlRequest.isOwn, curlRequest.mayUseHTTP2, !head.isHTTP2 {
        eventLoops.http1Origins.withLock {
          $0.insert(curlRequest.origin, curlRequest.pool.connection, now: MonotonicClock.now())
        }
      }
      configuration.cookies.store(
        setCookieLines: head.setCookieLines, for: transfer.request.url, request: request.urlRequest)
      guard request.decodesContent, head.hasBody(method: curlRequest.method) else {
        return TransportResponse(head: head, body: body)
      }
      return TransportResponse(
        head: head,
        body: ContentCoding.decoding(
          body, of: head, url: transfer.request.url, maximumInflation: request.maximumInflation))
    }

    // MARK: - From URLRequest

    // Not inlined into the frame of `start(_:)`, which is kept while the request waits: see ``RequestRunner``.
    @inline(never)
    private func curlRequest(_ request: TransportRequest) throws -> CurlRequest {
      let urlRequest = request.urlRequest
      let (url, origin) = try Self.checked(urlRequest.url)
      let method = urlRequest.httpMethod ?? "GET"
      guard !urlRequest.bodyStreamWasOpened else {
        throw CurlError.make(.requestBodyStreamExhausted, "The body's stream was opened before", url: url)
      }
      // RFC 9110 §9.3.2: a HEAD request has no content, and must not announce content that it never sends.
      let upload = method == "HEAD" ? nil : Self.upload(of: urlRequest)
      guard HeaderSyntax.isToken(method) else {
        throw CurlError.make(.badURL, "The request method is not a token", url: url)
      }
      var fields = urlRequest.allHTTPHeaderFields ?? [:]
      let isSecure = origin.scheme == "https"
      // On a connection to a proxy that was used for another host, libcurl would write this one with or without brackets,
      // depending on the other.
      if choice.mayUseHTTPProxy, !isSecure, fields.field("Host") == nil {
        fields["Host"] = RequestHead.host(of: origin)
      }
      // What the request is keyed by above is what it is sent over.
      let hop = request.hop
      let connection = hop.connection ?? configuration.connection(hasLeftOrigin: hop.hasLeftOrigin)
      let mayOfferHTTP2 = isSecure && CurlLibrary.capabilities?.allowsHTTP2(for: upload) == true
      let isOwn = choice.isOwn(
        isSecure: isSecure, mayOfferHTTP2: mayOfferHTTP2,
        hasChosenHTTP1: eventLoops.http1Origins.withLock {
          $0.contains(origin, connection, now: MonotonicClock.now())
        })
      let mayUseHTTP2 = isOwn ? isSecure && choice.speaksHTTP2 : mayOfferHTTP2
      let length = isOwn && upload?.isDeclaredEmpty == true ? 0 : upload?.length
      let content = Self.content(of: upload, length: length, method: method)
      let block = isOwn ? try headerFields.block(for: fields, content: content) : nil
      let head = block.map {
        RequestHead.bytes(method: method, url: url, host: RequestHead.host(of: origin), block: $0, length: length)
      }
      var pool = CurlPool.Key(connection: connection)
      pool.neverShares = isSecure && !mayUseHTTP2 && CurlLibrary.capabilities?.supportsHTTP2 == true
      return CurlRequest(
        url: url,
        isSecure: isSecure,
        mayUseHTTP2: mayUseHTTP2,
        method: method,
        isOwn: isOwn,
        headerLines: isOwn ? nil : try headerFields.lines(for: fields, content: content),
        head: head ?? [],
        closesConnection: block?.closes ?? false,
        upload: upload,
        isIdempotent: request.isIdempotent ?? Self.idempotentMethods.contains(method),
        hasExpectation: upload != nil && urlRequest.value(forHTTPHeaderField: "Expect") != nil,
        idleTimeout: urlRequest.idleTimeout(default: configuration.requestTimeout)?.clampedNanoseconds ?? .max,
        deadline: request.deadline.map(Self.nanoseconds(of:)) ?? .max,
        pool: pool,
        session: ObjectIdentifier(session),
        origin: origin,
        connectionsPerHost: configuration.connectionsPerHost,
        proxies: connection.proxies,
        mayUseTunnel: isSecure && connection.proxies.mayApply(isSecure: true),
        mayUseTLSProxy: connection.proxies == nil && EnvironmentProxies.hasTLS,
        wantsTimings: request.wantsTimings,
        onSend: request.onSend,
        onReceive: request.onReceive)
    }

    /// Whether the library itself speaks HTTP/1.1, unless the environment says otherwise.
    private static let speaksHTTP1ByDefault = getenv("EKNETWORK_HTTP1").map { String(cString: $0) } != "libcurl"

    /// Whether it speaks HTTP/2, too, where that is possible, unless the environment says otherwise.
    static let wantsHTTP2 = speaksHTTP1ByDefault && getenv("EKNETWORK_HTTP2").map { String(cString: $0) } != "libcurl"

    /// Whether it does.
    static let speaksHTTP2ByDefault = wantsHTTP2 && CurlLibrary.capabilities?.opensHTTP2 == true

    private static func checked(_ url: URL?) throws -> (URL, Origin) {
      guard let url else { throw URLError(.badURL) }
      switch url.scheme?.lowercased() {
      case "http", "https": break
      default: throw CurlError.make(.unsupportedURL, "Only http and https URLs can be loaded", url: url)
      }
      guard let origin = Origin(url) else { throw CurlError.make(.badURL, "The URL has no host", url: url) }
      guard HostSyntax.isValid(HostSyntax.unbracketed(origin.host)) else {
        throw CurlError.make(.badURL, "The URL's host has characters that no host has", url: url)
      }
      return (url, origin)
    }

    private static func upload(of request: URLRequest) -> (any UploadSource)? {
      if let body = request.httpBodyStream as? BodyInputStream { return body.source.makeUpload() }
      if let stream = request.httpBodyStream {
        return ReadAheadUpload(InputStreamReader(stream), length: nil, isReplayable: false)
      }
      if let data = request.httpBody { return DataUpload(data) }
      return nil
    }

    /// RFC 9110 §9.2.2.
    private static let idempotentMethods = Set(HTTPMethod.allCases.filter(\.isIdempotent).map(\.rawValue))

    private static let bodylessByDefault: Set<String> = ["GET", "HEAD", "DELETE", "OPTIONS", "TRACE", "CONNECT"]

    private static func content(
      of upload: (any UploadSource)?, length: Int64?, method: String
    ) -> CurlHeaderFields.Content {
      guard upload != nil else { return bodylessByDefault.contains(method) ? .none : .empty }
      return length == nil ? .chunked : .sized
    }

    private static func nanoseconds(of deadline: ContinuousClock.Instant) -> UInt64 {
      MonotonicClock.now().addingClamped((deadline - .now).clampedNanoseconds)
    }
  }
#endif
