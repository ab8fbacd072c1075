import Foundation

// Requests without a type of their own. There are two functions of each kind, as of `send`: what is decoded elsewhere must not be
// isolated to the caller's actor. And two for bodies: a literal of mixed values has no type but `JSONValue`.
extension NetworkManager {
  /// Sends a GET without a type of its own, as `send` does, and decodes its response.
  ///
  /// ```swift
  /// let user = try await manager.get("users/42", as: User.self)
  /// let users = try await manager.get("users", query: ["page": "1"], as: [User].self, accessToken: { token })
  /// ```
  ///
  /// - Parameters:
  ///   - path: The path, which is appended to the base URL's path and percent-encoded.
  ///   - query: The query items, sent sorted by name. Defaults to `nil`.
  ///   - headers: The header fields. Defaults to `nil`.
  ///   - type: The type of the response. Defaults to that which the call expects.
  ///   - accessToken: Returns the token for `Authorization: Bearer …`; called for each attempt. Defaults to `nil`.
  /// - Throws: What `send` throws.
  public nonisolated(nonsending) func get<Value: Decodable & SendableMetatype>(
    _ path: String, query: [String: String]? = nil, headers: [String: String]? = nil,
    as type: Value.Type = Value.self, accessToken: (() -> String?)? = nil
  ) async throws -> Value {
    try await send(Endpoint(.get, path, query, headers), accessToken: accessToken)
  }

  /// Sends a GET whose response has a conformance that may be isolated to an actor: it is decoded there.
  public nonisolated(nonsending) func get<Value: Decodable>(
    _ path: String, query: [String: String]? = nil, headers: [String: String]? = nil,
    as type: Value.Type = Value.self, accessToken: (() -> String?)? = nil
  ) async throws -> Value {
    try await send(Endpoint(.get, path, query, headers), accessToken: accessToken)
  }

  /// Sends a POST without a type of its own, as `send` does, with a JSON value, which can be a literal.
  ///
  /// ```swift
  /// try await manager.post("jobs", json: ["kind": "export", "rows": 10])
  /// let user = try await manager.post("users", json: ["name": "Ann", "age": 42], as: User.self)
  /// ```
  ///
  /// - Parameters:
  ///   - path: The path, which is appended to the base URL's path and percent-encoded.
  ///   - json: The body. Defaults to `nil`: none.
  ///   - query: The query items, sent sorted by name. Defaults to `nil`.
  ///   - headers: The header fields. Defaults to `nil`.
  ///   - type: The type of the response. Defaults to ``EmptyResponse``: a body is ignored.
  ///   - accessToken: Returns the token for `Authorization: Bearer …`; called for each attempt. Defaults to `nil`.
  /// - Throws: What `send` throws.
  @discardableResult
  public nonisolated(nonsending) func post<Value: Decodable & SendableMetatype>(
    _ path: String, json: JSONValue? = nil, query: [String: String]? = nil, headers: [String: String]? = nil,
    as type: Value.Type = EmptyResponse.self, accessToken: (() -> String?)? = nil
  ) async throws -> Value {
    try await send(Endpoint(.post, path, query, headers, json.map { RequestBody(json: $0) }), accessToken: accessToken)
  }

  /// Sends a POST whose response has a conformance that may be isolated to an actor: it is decoded there.
  @discardableResult
  public nonisolated(nonsending) func post<Value: Decodable>(
    _ path: String, json: JSONValue? = nil, query: [String: String]? = nil, headers: [String: String]? = nil,
    as type: Value.Type = EmptyResponse.self, accessToken: (() -> String?)? = nil
  ) async throws -> Value {
    try await send(Endpoint(.post, path, query, headers, json.map { RequestBody(json: $0) }), accessToken: accessToken)
  }

  /// Sends a POST with a value that is encoded as JSON.
  @discardableResult
  public nonisolated(nonsending) func post<Value: Decodable & SendableMetatype>(
    _ path: String, json: some Encodable, query: [String: String]? = nil, headers: [String: String]? = nil,
    as type: Value.Type = EmptyResponse.self, accessToken: (() -> String?)? = nil
  ) async throws -> Value {
    try await send(Endpoint(.post, path, query, headers, RequestBody(encodable: json)), accessToken: accessToken)
  }

  /// Sends a POST whose response has a conformance that may be isolated to an actor: it is decoded there.
  @discardableResult
  public nonisolated(nonsending) func post<Value: Decodable>(
    _ path: String, json: some Encodable, query: [String: String]? = nil, headers: [String: String]? = nil,
    as type: Value.Type = EmptyResponse.self, accessToken: (() -> String?)? = nil
  ) async throws -> Value {
    try await send(Endpoint(.post, path, query, headers, RequestBody(encodable: json)), accessToken: accessToken)
  }

  /// Sends a PUT. The parameters are those of `post`.
  @discardableResult
  public nonisolated(nonsending) func put<Value: Decodable & SendableMetatype>(
    _ path: String, json: JSONValue? = nil, query: [String: String]? = nil, headers: [String: String]? = nil,
    as type: Value.Type = EmptyResponse.self, accessToken: (() -> String?)? = nil
  ) async throws -> Value {
    try await send(Endpoint(.put, path, query, headers, json.map { RequestBody(json: $0) }), accessToken: accessToken)
  }

  /// Sends a PUT whose response has a conformance that may be isolated to an actor: it is decoded there.
  @discardableResult
  public nonisolated(nonsending) func put<Value: Decodable>(
    _ path: String, json: JSONValue? = nil, query: [String: String]? = nil, headers: [String: String]? = nil,
    as type: Value.Type = EmptyResponse.self, accessToken: (() -> String?)? = nil
  ) async throws -> Value {
    try await send(Endpoint(.put, path, query, headers, json.map { RequestBody(json: $0) }), accessToken: accessToken)
  }

  /// Sends a PUT with a value that is encoded as JSON.
  @discardableResult
  public nonisolated(nonsending) func put<Value: Decodable & SendableMetatype>(
    _ path: String, json: some Encodable, query: [String: String]? = nil, headers: [String: String]? = nil,
    as type: Value.Type = EmptyResponse.self, accessToken: (() -> String?)? = nil
  ) async throws -> Value {
    try await send(Endpoint(.put, path, query, headers, RequestBody(encodable: json)), accessToken: accessToken)
  }

  /// Sends a PUT whose response has a conformance that may be isolated to an actor: it is decoded there.
  @discardableResult
  public nonisolated(nonsending) func put<Value: Decodable>(
    _ path: String, json: some Encodable, query: [String: String]? = nil, headers: [String: String]? = nil,
    as type: Value.Type = EmptyResponse.self, accessToken: (() -> String?)? = nil
  ) async throws -> Value {
    try await send(Endpoint(.put, path, query, headers, RequestBody(encodable: json)), accessToken: accessToken)
  }

  /// Sends a PATCH. The parameters are those of `post`.
  @discardableResult
  public nonisolated(nonsending) func patch<Value: Decodable & SendableMetatype>(
    _ path: String, json: JSONValue? = nil, query: [String: String]? = nil, headers: [String: String]? = nil,
    as type: Value.Type = EmptyResponse.self, accessToken: (() -> String?)? = nil
  ) async throws -> Value {
    try await send(Endpoint(.patch, path, query, headers, json.map { RequestBody(json: $0) }), accessToken: accessToken)
  }

  /// Sends a PATCH whose response has a conformance that may be isolated to an actor: it is decoded there.
  @discardableResult
  public nonisolated(nonsending) func patch<Value: Decodable>(
    _ path: String, json: JSONValue? = nil, query: [String: String]? = nil, headers: [String: String]? = nil,
    as type: Value.Type = EmptyResponse.self, accessToken: (() -> String?)? = nil
  ) async throws -> Value {
    try await send(Endpoint(.patch, path, query, headers, json.map { RequestBody(json: $0) }), accessToken: accessToken)
  }

  /// Sends a PATCH with a value that is encoded as JSON.
  @discardableResult
  public nonisolated(nonsending) func patch<Value: Decodable & SendableMetatype>(
    _ path: String, json: some Encodable, query: [String: String]? = nil, headers: [String: String]? = nil,
    as type: Value.Type = EmptyResponse.self, accessToken: (() -> String?)? = nil
  ) async throws -> Value {
    try await send(Endpoint(.patch, path, query, headers, RequestBody(encodable: json)), accessToken: accessToken)
  }

  /// Sends a PATCH whose response has a conformance that may be isolated to an actor: it is decoded there.
  @discardableResult
  public nonisolated(nonsending) func patch<Value: Decodable>(
    _ path: String, json: some Encodable, query: [String: String]? = nil, headers: [String: String]? = nil,
    as type: Value.Type = EmptyResponse.self, accessToken: (() -> String?)? = nil
  ) async throws -> Value {
    try await send(Endpoint(.patch, path, query, headers, RequestBody(encodable: json)), accessToken: accessToken)
  }

  /// Sends a DELETE without a type of its own, as `send` does. The parameters are those of
  /// `get`, but the response defaults to ``EmptyResponse``.
  @discardableResult
  public nonisolated(nonsending) func delete<Value: Decodable & SendableMetatype>(
    _ path: String, query: [String: String]? = nil, headers: [String: String]? = nil,
    as type: Value.Type = EmptyResponse.self, accessToken: (() -> String?)? = nil
  ) async throws -> Value {
    try await send(Endpoint(.delete, path, query, headers), accessToken: accessToken)
  }

  /// Sends a DELETE whose response has a conformance that may be isolated to an actor: it is decoded there.
  @discardableResult
  public nonisolated(nonsending) func delete<Value: Decodable>(
    _ path: String, query: [String: String]? = nil, headers: [String: String]? = nil,
    as type: Value.Type = EmptyResponse.self, accessToken: (() -> String?)? = nil
  ) async throws -> Value {
    try await send(Endpoint(.delete, path, query, headers), accessToken: accessToken)
  }
}

extension Endpoint {
  fileprivate init(
    _ method: HTTPMethod, _ path: String, _ query: [String: String]?, _ headers: [String: String]?,
    _ body: RequestBody? = nil
  ) {
    self.init(method, path, query: query, headers: headers, body: body)
  }
}
