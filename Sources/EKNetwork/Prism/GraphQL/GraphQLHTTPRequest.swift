import Foundation

/// A GraphQL operation over HTTP (GraphQL over HTTP, §5 and §6).
struct GraphQLHTTPRequest: NetworkRequest {
  /// Not used: the client decodes the response, whatever its status.
  typealias Response = PrismGraphQLValue

  static let responseType = "application/graphql-response+json"
  static let streamType = "text/event-stream"
  /// Not every server and intermediary accepts a longer URL.
  private static let maximumQueryLength = 4_096

  let path = ""
  let method: HTTPMethod
  let headers: [String: String]?
  let queryParameters: [String: String]?
  let body: RequestBody?
  let retryPolicy: RetryPolicy
  let isIdempotent: Bool
  /// Keeps the body of a 401, which may be a GraphQL response like that of any other status.
  var responseErrorDecoder: ((NetworkResponse) -> Error?)? {
    { response in
      guard response.statusCode == 401 else { return nil }
      return HTTPError(statusCode: 401, data: response.data, headers: response.headerFields.dictionary)
    }
  }

  init(
    _ query: PrismGraphQLQuery, sendsDocument: Bool = true, hash: String? = nil, accept: String,
    headers: [String: String], options: PrismGraphQLOptions
  ) throws {
    let kind = GraphQLDocument.kind(of: query.query, operationName: query.operationName)
    let parameters = Parameters(
      query: sendsDocument ? query.query : nil, operationName: query.operationName, variables: GraphQLVariables(query),
      extensions: hash.map { ["persistedQuery": ["version": 1, "sha256Hash": .string($0)]] })
    var fields = headers
    if fields.field("Accept") == nil { fields["Accept"] = accept }
    self.headers = fields
    // A query has no side effects (§6.2.1 of GraphQL): it may be sent again if a reused connection turns out to be
    // closed.
    isIdempotent = kind == .query
    retryPolicy = kind == .query ? options.retryPolicy.map { RetryPolicy($0) } ?? RetryPolicy() : RetryPolicy()
    // §5: GET is allowed for queries only.
    let items = kind == .query && options.usesGETForQueries ? try parameters.queryItems() : nil
    if let items, Self.encodedLength(of: items) <= Self.maximumQueryLength {
      method = .get
      queryParameters = items
      body = nil
    } else {
      method = .post
      queryParameters = nil
      body = RequestBody(data: try EndpointBody.encoder.encode(parameters), contentType: "application/json")
    }
  }

  /// Returns the length of a query in a URL, where most punctuation and every byte outside ASCII takes three bytes.
  private static func encodedLength(of items: [String: String]) -> Int {
    var query: [UInt8] = []
    let texts = items.flatMap { [$0.key, $0.value] }
    for text in texts { PercentEncoding.append(text, to: &query, allowed: PercentEncoding.unreserved) }
    return query.count + texts.count
  }

  static func payload(_ query: PrismGraphQLQuery) -> some Encodable {
    Parameters(
      query: query.query, operationName: query.operationName, variables: GraphQLVariables(query), extensions: nil)
  }

  private struct Parameters: Encodable {
    let query: String?
    let operationName: String?
    let variables: GraphQLVariables?
    let extensions: PrismGraphQLValue?

    func queryItems() throws -> [String: String] {
      var items: [String: String] = [:]
      items["query"] = query
      items["operationName"] = operationName
      items["variables"] = try variables.map { String(decoding: try EndpointBody.encoder.encode($0), as: UTF8.self) }
      items["extensions"] = try extensions.map { String(decoding: try EndpointBody.encoder.encode($0), as: UTF8.self) }
      return items
    }
  }
}

/// A subscription over server-sent events, in the distinct connections mode of `graphql-sse`.
///
/// Unchecked: only one caller at a time uses the iterator, as ``GraphQLSource`` requires.
final class GraphQLEventStream: GraphQLSource, @unchecked Sendable {
  private let events: StreamReader<EventStreamParser>?
  private var state = GraphQLEventState()
  /// The result of a server that responds with a single result instead of a stream.
  private var single: Data?

  private init(_ events: StreamReader<EventStreamParser>?, single: Data? = nil) {
    self.events = events
    self.single = single
  }

  static func open(_ client: PrismGraphQLClient, _ query: PrismGraphQLQuery) async throws -> GraphQLEventStream {
    let request = try GraphQLHTTPRequest(
      query, accept: "\(GraphQLHTTPRequest.streamType), \(GraphQLHTTPRequest.responseType);q=0.9",
      headers: client.additionalHeaders, options: PrismGraphQLOptions())
    let endpointURL = client.endpointURL
    let token = client.options.token
    let runner = client.runner(over: client.manager.streamingTransport, token)
    let opened: TransportResponse
    do {
      opened = try await runner.stream(
        request, baseURL: { endpointURL }, accessToken: token.read, recordsEnds: false)
    } catch let error as HTTPError where !runner.hasTokenFailed {
      // The server rejected the operation before it started.
      let response: PrismGraphQLResponse<PrismGraphQLValue> = try client.decode(error)
      throw PrismGraphQLSubscriptionError.rejected(response.errors ?? [])
    }
    let type = opened.head.value("content-type")?.mediaType
    if type == GraphQLHTTPRequest.streamType {
      let parser = EventStreamParser(maximumSize: StreamingResponse.defaultMaximumLength, dispatchesTypesAlone: true)
      return GraphQLEventStream(StreamReader(ReadOnceBody(opened.body), parser: parser))
    }
    guard type == GraphQLHTTPRequest.responseType || type == "application/json" else {
      opened.body.cancel()
      throw PrismGraphQLSubscriptionError.protocolViolation("The server sent \(type ?? "no media type")")
    }
    let limit = StreamingResponse.defaultMaximumLength
    let tooLong = StreamLineTooLongError(line: 1, limitBytes: limit)
    return GraphQLEventStream(nil, single: try await opened.collect(limit: limit, orThrow: tooLong).data)
  }

  func next() async throws -> Data? {
    guard let events else { return single.take() }
    while let event = try await events.next() {
      switch state.received(event) {
      case .deliver(let data): return data
      case .finish: return nil
      case .ignore: continue
      }
    }
    guard state.mayEndWithItsStream else { throw URLError(.networkConnectionLost) }
    return nil
  }
}

/// The meaning of the events of one subscription, by the protocol of `graphql-sse` (distinct connections mode). A value
/// without side effects.
struct GraphQLEventState {
  enum Action: Equatable {
    /// An execution result.
    case deliver(Data)
    case finish
    case ignore
  }

  /// An event without a name is a result only if it has the members of one (§7.1 of GraphQL).
  private struct Result: Decodable {
    let isResult: Bool

    private enum Key: CodingKey { case data, errors }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Key.self)
      isResult = container.contains(.data) || container.contains(.errors)
    }
  }

  private var hasNamedResults = false
  private var hasUnnamedResults = false

  /// Whether the end of the stream completes the subscription: only for servers that give their events no names, and so
  /// cannot send `complete`. For all others it is a lost connection.
  var mayEndWithItsStream: Bool { hasUnnamedResults && !hasNamedResults }

  mutating func received(_ event: ServerSentEvent) -> Action {
    let data = Data(event.data.utf8)
    switch event.event {
    case "next":
      hasNamedResults = true
      // Servers send an event without a result, or with an empty one, to keep the connection alive.
      return Self.isEmpty(event.data) ? .ignore : .deliver(data)
    case "complete": return .finish
    case "message":
      guard (try? JSONDecoder().decode(Result.self, from: data))?.isResult == true else { return .ignore }
      hasUnnamedResults = true
      return .deliver(data)
    // Events of a later version, or sent to keep the connection alive.
    default: return .ignore
    }
  }

  private static func isEmpty(_ text: String) -> Bool {
    let content = text.utf8.lazy.filter { ![0x09, 0x0A, 0x0D, 0x20].contains($0) }
    return content.isEmpty || content.prefix(3).elementsEqual("{}".utf8)
  }
}
