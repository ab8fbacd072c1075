import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A GraphQL operation over HTTP (GraphQL over HTTP, §5 and §6).
struct GraphQLHTTPRequest: NetworkRequest {
  /// The response, undecoded.
  struct Response: Decodable, Sendable {
    let contentType: String?
    let data: Data

    init(contentType: String?, data: Data) {
      self.contentType = contentType
      self.data = data
    }

    init(from decoder: any Decoder) throws { self.init(contentType: nil, data: Data()) }
  }

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
  let allowsResponseDecoderOverride = false

  /// - Parameters:
  ///   - query: The operation.
  ///   - sendsDocument: Whether the document itself is sent, instead of only its hash.
  ///   - hash: The document's SHA-256, if it is sent.
  ///   - accept: The value of the `Accept` field.
  init(
    _ query: PrismGraphQLQuery, sendsDocument: Bool = true, hash: String? = nil, accept: String,
    headers: [String: String], options: PrismGraphQLOptions
  ) throws {
    let kind = GraphQLDocument.kind(of: query.query, operationName: query.operationName)
    let parameters = Parameters(
      query: sendsDocument ? query.query : nil, operationName: query.operationName, variables: GraphQLVariables(query),
      extensions: hash.map { Extensions(persistedQuery: PersistedQuery(version: 1, sha256Hash: $0)) })
    var fields = headers
    if fields.field("Accept") == nil { fields["Accept"] = accept }
    self.headers = fields
    // A query has no side effects (§6.2.1 of GraphQL): it may be sent again if a reused connection turns out to be
    // closed.
    isIdempotent = kind == .query
    retryPolicy = kind == .query ? options.retryPolicy.map { RetryPolicy($0) } ?? RetryPolicy() : RetryPolicy()
    // §5: GET is allowed for queries only.
    if kind == .query, options.usesGETForQueries, let items = try parameters.queryItems(),
      items.reduce(0, { $0 + $1.key.utf8.count + $1.value.utf8.count }) <= Self.maximumQueryLength
    {
      method = .get
      queryParameters = items
      body = nil
    } else {
      method = .post
      queryParameters = nil
      body = RequestBody(data: try Self.encoder.encode(parameters), contentType: "application/json")
    }
  }

  func decodeResponse(data: Data, response: URLResponse) throws -> Response {
    Response(contentType: (response as? HTTPURLResponse)?.headerDictionary.field("Content-Type"), data: data)
  }

  /// Returns the parameters of a subscription, to be encoded as JSON.
  static func payload(_ query: PrismGraphQLQuery) -> some Encodable {
    Parameters(
      query: query.query, operationName: query.operationName, variables: GraphQLVariables(query), extensions: nil)
  }

  static var encoder: JSONEncoder {
    let encoder = JSONEncoder()
    // The same operation always has the same bytes, and the same URL.
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .iso8601
    return encoder
  }

  private struct PersistedQuery: Encodable {
    let version: Int
    let sha256Hash: String
  }

  private struct Extensions: Encodable {
    let persistedQuery: PersistedQuery
  }

  private struct Parameters: Encodable {
    let query: String?
    let operationName: String?
    let variables: GraphQLVariables?
    let extensions: Extensions?

    func queryItems() throws -> [String: String]? {
      var items: [String: String] = [:]
      items["query"] = query
      items["operationName"] = operationName
      items["variables"] = try variables.map { String(decoding: try encoder.encode($0), as: UTF8.self) }
      items["extensions"] = try extensions.map { String(decoding: try encoder.encode($0), as: UTF8.self) }
      return items
    }
  }
}
