#if os(Linux)
  import CCurl
  import Foundation
  import FoundationNetworking

  /// A transport that speaks HTTP itself, on connections that libcurl opens, for sessions that are configured but not
  /// customised with code.
  struct HTTPTransport: Transport {
    private let eventLoops: EventLoops
    private let configuration: SessionSettings
    private let tls: TLSOptions?
    private let fields = RequestFields()
    private let speaksHTTP2: Bool
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
      eventLoops: EventLoops = .shared
    ) {
      guard let capabilities = CurlLibrary.capabilities else { return nil }
      self.eventLoops = eventLoops
      self.session = session ?? UnnamedSession()
      self.tls = tls
      self.configuration = SessionSettings(configuration, tls: tls)
      speaksHTTP2 = capabilities.opensHTTP2
    }

    var resolvesRedirects: Bool { false }
    var resourceTimeout: Duration? { configuration.resourceTimeout }
    var implementation: TransportDescription? { .current }
    var sessionSettings: SessionSettings { configuration }
    var connectionSettings: ConnectionSettings {
      ConnectionSettings(trust: tls.map { .options($0) } ?? .system, proxies: configuration.proxies)
    }

    func start(_ request: TransportRequest) async throws -> TransportResponse {
      let prepared = try prepare(request)
      guard let eventLoop = eventLoops.loop(for: prepared.origin) else {
        throw EventLoops.startError
      }
      let transfer = Transfer(prepared, eventLoop: eventLoop)
      let body = TransferBody(transfer)
      let head = try await transfer.start()
      configuration.cookies.store(
        setCookieLines: head.setCookieLines, for: transfer.request.url, request: request.urlRequest)
      guard request.decodesContent, head.hasBody(method: prepared.method) else {
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
    private func prepare(_ request: TransportRequest) throws -> PreparedRequest {
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
      // What the request is keyed by above is what it is sent over.
      let hop = request.hop
      let connection = hop.connection ?? configuration.connection(hasLeftOrigin: hop.hasLeftOrigin)
      let proxy = connection.proxies.server(for: HostSyntax.unbracketed(origin.host), isSecure: isSecure)
      let isForwarded = !isSecure && proxy?.takesRequests == true
      if isForwarded, let authorization = proxy?.authorization, fields.field("Proxy-Authorization") == nil {
        fields["Proxy-Authorization"] = authorization
      }
      let length = upload?.isDeclaredEmpty == true ? 0 : upload?.length
      let block = try self.fields.block(for: fields, content: Self.content(of: upload, length: length, method: method))
      let head = RequestHead.bytes(
        method: method, url: url, host: RequestHead.host(of: origin), isForwarded: isForwarded, block: block,
        length: length)
      return PreparedRequest(
        url: url,
        isSecure: isSecure,
        // Inside the TLS of a proxy there may be that of the server: both would be offered it.
        mayUseHTTP2: isSecure && speaksHTTP2 && proxy?.isSecure != true,
        method: method,
        head: head,
        closesConnection: block.closes,
        upload: upload,
        isIdempotent: request.isIdempotent ?? Self.idempotentMethods.contains(method),
        hasExpectation: upload != nil && urlRequest.value(forHTTPHeaderField: "Expect") != nil,
        idleTimeout: urlRequest.idleTimeout(default: configuration.requestTimeout)?.clampedNanoseconds ?? .max,
        deadline: request.deadline.map(Self.nanoseconds(of:)) ?? .max,
        connection: connection,
        proxy: proxy,
        session: ObjectIdentifier(session),
        origin: origin,
        connectionsPerHost: configuration.connectionsPerHost,
        wantsTimings: request.wantsTimings,
        onSend: request.onSend,
        onReceive: request.onReceive)
    }

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
    ) -> RequestFields.Content {
      guard upload != nil else { return bodylessByDefault.contains(method) ? .none : .empty }
      return length == nil ? .chunked : .sized
    }

    private static func nanoseconds(of deadline: ContinuousClock.Instant) -> UInt64 {
      MonotonicClock.now().addingClamped((deadline - .now).clampedNanoseconds)
    }
  }
#endif
