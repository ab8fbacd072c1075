import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A subscription over server-sent events, in the distinct connections mode of `graphql-sse`.
///
/// Unchecked: only one caller at a time uses the iterator, as ``GraphQLSource`` requires.
final class GraphQLEventStream: GraphQLSource, @unchecked Sendable {
  private var events: AsyncThrowingStream<ServerSentEvent, any Error>.Iterator?
  /// The result of a server that responds with a single result instead of a stream.
  private var single: Data?

  private init(_ events: AsyncThrowingStream<ServerSentEvent, any Error>?, single: Data? = nil) {
    self.events = events?.makeAsyncIterator()
    self.single = single
  }

  static func open(_ client: PrismGraphQLClient, _ query: PrismGraphQLQuery) async throws -> GraphQLEventStream {
    let request = try GraphQLHTTPRequest(
      query, accept: "\(GraphQLHTTPRequest.streamType), \(GraphQLHTTPRequest.responseType);q=0.9",
      headers: client.additionalHeaders, options: PrismGraphQLOptions())
    let endpointURL = client.endpointURL
    let opened: TransportResponse
    do {
      opened = try await client.manager.runner(over: client.manager.streamingTransport).stream(
        request, baseURL: { endpointURL }, accessToken: client.options.accessToken)
    } catch let error as HTTPError {
      // The server rejected the operation before it started.
      let response: PrismGraphQLResponse<PrismGraphQLValue> = try client.decode(error)
      throw PrismGraphQLSubscriptionError.rejected(response.errors ?? [])
    }
    let type = opened.head.value("content-type")?.mediaType
    if type == GraphQLHTTPRequest.streamType {
      return GraphQLEventStream(StreamingBody(opened.body).events().stream)
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
    guard var events else {
      defer { single = nil }
      return single
    }
    while let event = try await events.next() {
      switch event.event {
      case "next":
        self.events = events
        return Data(event.data.utf8)
      case "complete": return nil
      // Events of a later version, or sent to keep the connection alive.
      default: continue
      }
    }
    // A stream whose reader was cancelled ends without an error.
    try Task.checkCancellation()
    throw URLError(.networkConnectionLost)
  }
}
