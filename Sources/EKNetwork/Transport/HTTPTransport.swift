#if os(Linux)
  import Foundation

  /// A transport that speaks HTTP itself, on connections that libcurl opens, for sessions that are configured but not
  /// customised with code.
  struct HTTPTransport: Transport {
    private let eventLoops: EventLoops
    let sessionSettings: SessionSettings
    private let fields = RequestFields()
    private let destinations = Destinations()
    private let speaksHTTP2: Bool
    /// Whether it can also be negotiated.
    private let opensHTTP2: Bool
    /// The session whose connections are limited.
    private let session: SessionLease

    private final class UnnamedSession: Sendable {}

    /// Returns `nil` if libcurl cannot be used.
    ///
    /// - Parameters:
    ///   - session: The session, whose transports share one connection limit; `nil` for a session with this transport
    ///     alone.
    init?(
      configuration: URLSessionConfiguration, options: ConnectionOptions = ConnectionOptions(),
      session: (any AnyObject & Sendable)? = nil, eventLoops: EventLoops = .shared
    ) {
      guard let capabilities = CurlLibrary.capabilities else { return nil }
      self.eventLoops = eventLoops
      self.session = SessionLease(session ?? UnnamedSession())
      sessionSettings = SessionSettings(configuration, options: options, session: session)
      speaksHTTP2 = capabilities.speaksHTTP2
      opensHTTP2 = capabilities.opensHTTP2
    }

    var resolvesRedirects: Bool { false }
    var implementation: TransportDescription? { .current }
    var connectionSettings: ConnectionSettings {
      let connection = sessionSettings.connection(to: nil, hasLeftOrigin: false)
      return ConnectionSettings(
        trust: connection.tls.map { .options($0) } ?? .system, proxies: sessionSettings.proxies, route: connection.route
      )
    }

    func start(_ request: TransportRequest) async throws -> TransportResponse {
      let transfer = try transfer(for: request)
      let body = TransferBody(transfer)
      let head = try await transfer.start()
      return response(head, body, of: transfer, to: request)
    }

    @inline(never)
    private func response(
      _ head: ResponseHead, _ body: TransferBody, of transfer: Transfer, to request: TransportRequest
    ) -> TransportResponse {
      sessionSettings.cookies.store(
        setCookieLines: head.setCookieLines, for: transfer.request.url, request: request.sent)
      guard request.decodesContent, head.hasBody(method: transfer.request.method) else {
        return TransportResponse(head: head, body: body)
      }
      return TransportResponse(
        head: head,
        body: ContentCoding.decoding(
          body, of: head, url: transfer.request.url, maximumInflation: request.maximumInflation,
          // Who reads a stream takes time, too, which is not that of the request.
          deadline: request.collectsBody ? request.deadline : nil))
    }

    func preconnect(_ request: TransportRequest) async throws -> Bool {
      try await transfer(for: request, onlyConnects: true).connect()
      return true
    }

    // MARK: - From the request

    // Not inlined into the frame of `start(_:)`, which is kept while the request waits: see ``RequestRunner``.
    @inline(never)
    private func transfer(for request: TransportRequest, onlyConnects: Bool = false) throws -> Transfer {
      do {
        var prepared = try prepare(request)
        prepared.onlyConnects = onlyConnects
        guard let eventLoop = eventLoops.loop(for: prepared.origin) else { throw EventLoops.startError }
        return Transfer(prepared, eventLoop: eventLoop)
      } catch let error as URLError where error.failingURL == nil {
        // An option knows no request.
        throw error.replacingURL(with: request.sent.url)
      }
    }

    private func prepare(_ request: TransportRequest) throws -> PreparedRequest {
      let sent = request.sent
      let url = sent.url
      let destination = try destinations.destination(of: url)
      let origin = destination.origin
      let method = sent.method
      guard !sent.bodyStreamWasOpened else {
        throw URLError(.requestBodyStreamExhausted, url: url, description: "The body's stream was opened before")
      }
      let deadline = try request.deadline.map { try Self.nanoseconds(of: $0, url: url) } ?? .max
      // RFC 9110 §9.3.2: a HEAD request has no content, and must not announce content that it never sends.
      let upload = method == "HEAD" ? nil : Self.upload(of: sent)
      guard HeaderSyntax.isToken(method) else {
        throw URLError(.badURL, url: url, description: "The request method is not a token")
      }
      var fields = sent.fields
      let isSecure = destination.isSecure
      // What the request is keyed by above is what it is sent over.
      let hop = request.hop
      let connection = try (hop.connection ?? sessionSettings.connection(to: url, hasLeftOrigin: hop.hasLeftOrigin))
        .choosingProxies(for: origin, isSecure: isSecure)
      let host = origin.hostToConnect
      let proxy = try connection.proxies.server(
        for: host, isSecure: isSecure, isDirect: connection.route.isDirect(to: host))
      let isForwarded = proxy?.forwards(isSecure: isSecure) == true
      if isForwarded, let authorization = proxy?.authorization, !fields.contains("proxy-authorization") {
        fields.append("Proxy-Authorization", authorization)
      }
      let length = upload?.isDeclaredEmpty == true ? 0 : upload?.length
      let block = try self.fields.block(for: fields, content: Self.content(of: upload, length: length, method: method))
      let head = RequestHead.bytes(
        method: method, url: url, host: destination.host, isForwarded: isForwarded, block: block, length: length)
      return PreparedRequest(
        url: url,
        isSecure: isSecure,
        version: try version(connection.options.httpVersion, isSecure: isSecure, through: proxy, url: url),
        method: method,
        head: head,
        closesConnection: block.closes,
        upload: upload,
        isIdempotent: request.isIdempotent ?? sent.isIdempotent,
        hasExpectation: upload != nil && fields.contains("expect"),
        idleTimeout: sent.idleTimeout(default: sessionSettings.requestTimeout)?.clampedNanoseconds ?? .max,
        deadline: deadline,
        connection: connection,
        proxy: proxy,
        session: session.identifier,
        origin: origin,
        connectionsPerHost: sessionSettings.connectionsPerHost,
        wantsTimings: request.wantsTimings,
        onSend: request.onSend,
        onReceive: request.onReceive,
        onInterim: request.onInterim)
    }

    /// Returns the version of HTTP to speak, which is open only with TLS.
    private func version(
      _ wanted: ConnectionOptions.HTTPVersion, isSecure: Bool, through proxy: ProxyServer?, url: URL
    ) throws -> ConnectionOptions.HTTPVersion {
      guard wanted != .http1 else { return .http1 }
      // Inside the TLS of a proxy there may be that of the server: both would be offered it.
      let isPossible =
        isSecure
        ? opensHTTP2 && proxy?.isSecure != true
        : speaksHTTP2 && proxy?.forwards(isSecure: false) != true
      guard wanted == .http2 else { return isSecure && isPossible ? .automatic : .http1 }
      if isPossible { return .http2 }
      let text =
        proxy == nil
        ? "HTTP/2 needs libnghttp2 and, for https URLs, OpenSSL" : "HTTP/2 cannot be spoken through this proxy"
      throw URLError(.resourceUnavailable, url: url, description: text)
    }

    private static func upload(of request: HTTPRequest) -> (any UploadSource)? {
      if let source = request.bodySource { return source.makeUpload() }
      return switch request.body {
      case .stream(let stream)?: ReadAheadUpload(stream, length: nil)
      case .data(let data)?: DataUpload(data)
      case nil: nil
      }
    }

    private static func content(
      of upload: (any UploadSource)?, length: Int64?, method: String
    ) -> RequestFields.Content {
      guard upload == nil else { return length == nil ? .chunked : .sized }
      return HTTPMethod.anticipatesContent(method) ? .empty : .none
    }

    private static func nanoseconds(of deadline: ContinuousInstant, url: URL) throws -> UInt64 {
      let rest = deadline - .now
      // Middleware may have used up the time.
      guard rest > .zero else {
        throw URLError(
          .timedOut, url: url, description: "The request timed out before it was sent", cause: UnsentRequestError())
      }
      return MonotonicClock.now().addingClamped(rest.clampedNanoseconds)
    }
  }

  /// Where requests go, as their URLs say. The last one is kept, because the next request mostly has the same.
  private struct Destinations: Sendable {
    final class Destination: Sendable {
      let origin: Origin
      let isSecure: Bool
      /// The `Host` of requests to it.
      let host: String
      /// The URL up to the end of its authority, from which all of this follows.
      private let authority: [UInt8]

      /// - Throws: `URLError` for a URL that cannot be loaded.
      init(_ url: URL, authority: [UInt8]) throws {
        switch url.scheme?.lowercased() {
        case "http", "https", Origin.socketScheme: break
        default: throw URLError(.unsupportedURL, url: url, description: "Only http and https URLs can be loaded")
        }
        guard let origin = Origin(url) else { throw URLError(.badURL, url: url, description: "The URL has no host") }
        if let problem = ConnectionOptions.problem(withSocketPath: url.socketPath) { throw problem }
        guard origin.scheme == Origin.socketScheme || HostSyntax.isValid(HostSyntax.unbracketed(origin.host)) else {
          throw URLError(.badURL, url: url, description: "The URL's host has characters that no host has")
        }
        self.origin = origin
        isSecure = origin.scheme == "https"
        host = RequestHead.host(of: origin)
        self.authority = authority
      }

      func has(_ authority: Slice<UnsafeBufferPointer<UInt8>>) -> Bool { self.authority.elementsEqual(authority) }
    }

    private let last = Locked<Destination?>(nil)

    func destination(of url: URL) throws -> Destination {
      var text = url.absoluteString
      return try text.withUTF8 { text in
        let authority = text[..<RequestHead.endOfAuthority(in: text)]
        if let last = last.withLock({ $0 }), last.has(authority) { return last }
        let destination = try Destination(url, authority: Array(authority))
        // A password is not kept.
        if !authority.contains(UInt8(ascii: "@")) { last.replace(\.self, with: destination) }
        return destination
      }
    }
  }

  /// A request in the form that the event loop needs. It is created by the caller.
  struct PreparedRequest: Sendable {
    let url: URL
    let isSecure: Bool
    /// The version of HTTP; ``ConnectionOptions/HTTPVersion/automatic`` if the server chooses it.
    let version: ConnectionOptions.HTTPVersion
    let method: String
    /// The head, as it is written over HTTP/1.1.
    let head: [UInt8]
    /// Whether the connection must not be used for another request.
    let closesConnection: Bool
    let upload: (any UploadSource)?
    /// Whether the request may be sent again if its connection failed before a response began.
    let isIdempotent: Bool
    /// Whether it has an `Expect` field (RFC 9110 §10.1.1).
    let hasExpectation: Bool
    /// The number of nanoseconds without a byte in either direction after which the request times out.
    let idleTimeout: UInt64
    /// The deadline of the attempt, in nanoseconds of the event loop's clock.
    let deadline: UInt64
    /// Whose connections it may use.
    let connection: ConnectionIdentity
    /// The proxy for which the head is made, and over which its connection is opened; `nil` if there is none.
    let proxy: ProxyServer?
    /// The session and the origin whose connections are limited, and their limit.
    let session: ObjectIdentifier
    let origin: Origin
    let connectionsPerHost: Int
    let wantsTimings: Bool
    let onSend: (@Sendable (Int64, Int64?) -> Void)?
    let onReceive: BodyObserver?
    let onInterim: InterimObserver?
    /// Whether only a connection is opened for it.
    var onlyConnects = false

    /// Whether starting it takes little time, apart from opening a connection with TLS: there is no body to be read and no
    /// progress to report.
    var isQuickToStart: Bool {
      (upload == nil || upload is DataUpload) && onSend == nil && onReceive == nil
    }
  }
#endif
