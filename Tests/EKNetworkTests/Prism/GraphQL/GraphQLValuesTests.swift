import Testing

@testable import EKNetwork

struct GraphQLValuesTests {
  @Test func encodesVariablesOfEveryKind() throws {
    struct Point: Encodable, Sendable { let x = 1.5 }
    let nested: [String: any Sendable] = [
      "id": "42", "count": 3, "ratio": 0.5, "isOn": true, "none": String?.none, "null": NSNull(),
      "some": Int?.some(7), "list": [1, "two", [3]] as [any Sendable], "point": Point(),
      "deep": ["a": ["b": ["c": Int?.none, "d": [Point()]] as [String: any Sendable]] as [String: any Sendable]]
        as [String: any Sendable],
    ]
    let variables = try #require(GraphQLVariables(PrismGraphQLQuery(query: "", variables: nested)))
    let text = String(decoding: try EndpointBody.encoder.encode(variables), as: UTF8.self)
    #expect(
      text == #"{"count":3,"deep":{"a":{"b":{"c":null,"d":[{"x":1.5}]}}},"id":"42","isOn":true,"#
        + #""list":[1,"two",[3]],"none":null,"null":null,"point":{"x":1.5},"ratio":0.5,"some":7}"#)
    struct Input: Encodable, Sendable { let id = 1 }
    let typed = try #require(GraphQLVariables(PrismGraphQLQuery(query: "", encoding: Input())))
    #expect(String(decoding: try EndpointBody.encoder.encode(typed), as: UTF8.self) == #"{"id":1}"#)
    #expect(GraphQLVariables(PrismGraphQLQuery(query: "{ a }")) == nil)
    struct Opaque: Sendable {}
    let opaque = try #require(GraphQLVariables(PrismGraphQLQuery(query: "", variables: ["a": Opaque()])))
    #expect(throws: EncodingError.self) { _ = try EndpointBody.encoder.encode(opaque) }
  }

  @Test func decodesErrorWithAllFields() throws {
    let text = """
      {"data": {"hero": null}, "errors": [{"message": "no", "locations": [{"line": 1, "column": 3}],
      "path": ["user", 0, "name"], "extensions": {"code": "GONE", "retry": [1, 2.5, true, null, {"a": "b"}]}}]}
      """
    struct Data: Decodable, Sendable { let hero: String? }
    let response = try JSONDecoder().decode(PrismGraphQLResponse<Data>.self, from: .init(text.utf8))
    let error = try #require(response.errors?.first)
    #expect(response.data != nil)
    #expect(error.path == ["user", "0", "name"])
    #expect(error.pathElements == [.field("user"), .index(0), .field("name")])
    #expect(error.locations == [PrismGraphQLErrorLocation(line: 1, column: 3)])
    #expect(
      error.extensions == [
        "code": .string("GONE"),
        "retry": .array([.int(1), .double(2.5), .bool(true), .null, .object(["a": .string("b")])]),
      ])
  }

  @Test func responseOfErrorsAloneCanBeCreated() {
    let refused = PrismGraphQLResponse<String>(errors: [PrismGraphQLError(message: "no")])
    #expect(refused.data == nil && refused.errors?.count == 1)
    let empty = PrismGraphQLResponse<String>()
    #expect(empty.data == nil && empty.errors == nil && empty.extensions == nil)
  }

  @Test func undecodablePartialDataKeepsErrors() throws {
    struct Strict: Decodable, Sendable { let name: String }
    func decode(_ text: String) throws -> PrismGraphQLResponse<Strict> {
      try JSONDecoder().decode(PrismGraphQLResponse<Strict>.self, from: Data(text.utf8))
    }
    let partial = try decode(#"{"data":{"name":null},"errors":[{"message":"no","path":["name"]}]}"#)
    #expect(partial.data == nil)
    #expect(partial.errors?.map(\.message) == ["no"])
    #expect(try decode(#"{"errors":[{"message":"no"}]}"#).errors?.count == 1)
    #expect(try decode(#"{"errors":[{"message":1,"path":[{}],"locations":3}]}"#).errors?.first?.path == nil)
    for bad in [#"{"data":{"name":null}}"#, "{}", #"{"errors":[]}"#, "[]", #"{"hello":1}"#] {
      #expect(throws: DecodingError.self) { _ = try decode(bad) }
    }
  }

  @Test(
    arguments: [
      ("{ a }", nil, GraphQLDocument.Kind.query), ("query A { a } mutation B { b }", "B", .mutation),
      ("query A { a } mutation B { b }", "A", .query), ("mutation { b }", nil, .mutation),
      ("# mutation M {}\nsubscription S($a: [Int!] = [1]) @live { c }", nil, .subscription),
      ("fragment F on mutation { x } query { ...F }", nil, .query),
      ("query($s: String = \"mutation { \\\" }\") { a }", nil, .query),
      ("query($s: String = \"\"\"} mutation { \\\"\"\" \"\"\") { a }", nil, .query),
      ("query @a(x: {y: 1}) { a(b: {c: \"}\"}) { d } }", nil, .query),
    ] as [(String, String?, GraphQLDocument.Kind)])
  func parsesOperationKind(_ document: String, _ name: String?, _ kind: GraphQLDocument.Kind) {
    #expect(GraphQLDocument.kind(of: document, operationName: name) == kind)
  }

  @Test func ambiguousOperationKindIsNil() {
    #expect(GraphQLDocument.kind(of: "query A { a } query B { b }", operationName: nil) == nil)
    #expect(GraphQLDocument.kind(of: "query A { a }", operationName: "B") == nil)
    for text in ["", "{", "\"", "\"\"\"", "#", "query \"\\", "}}}{", "@"] {
      _ = GraphQLDocument.kind(of: text, operationName: nil)
    }
  }
}

struct GraphQLSocketStateTests {
  private func state() throws -> GraphQLSocketState {
    try GraphQLSocketState(subscribing: GraphQLHTTPRequest.payload(PrismGraphQLQuery(query: "subscription { a }")))
  }

  @Test func subscriptionExchangesMessages() throws {
    var state = try state()
    #expect(try GraphQLSocketState.initialisation(nil) == #"{"type":"connection_init"}"#)
    let initialisation = try GraphQLSocketState.initialisation(["t": .int(1)])
    #expect(initialisation == #"{"payload":{"t":1},"type":"connection_init"}"#)
    let subscribe = #"{"id":"1","payload":{"query":"subscription { a }"},"type":"subscribe"}"#
    #expect(state.received(#"{"type":"ping"}"#) == .send(#"{"type":"pong"}"#))
    #expect(state.received(#"{"type":"connection_ack"}"#) == .send(subscribe))
    let next = #"{"type":"next","id":"1","payload":{"data":{"a":1}}}"#
    #expect(state.received(next) == .deliver(Data(next.utf8)))
    #expect(state.received(#"{"type":"next","id":"7","payload":{"data":{}}}"#) == nil)
    #expect(state.received(#"{"type":"pong"}"#) == nil)
    #expect(state.received(#"{"type":"complete","id":"1"}"#) == .finish)
    #expect(state.received(next) == nil)
  }

  @Test func errorMessageEndsSubscription() throws {
    var state = try state()
    _ = state.received(#"{"type":"connection_ack"}"#)
    #expect(
      state.received(#"{"type":"error","id":"1","payload":[{"message":"no"}]}"#)
        == .fail(.rejected([PrismGraphQLError(message: "no")])))
  }

  @Test(arguments: [
    "", "[]", "{", #"{"type":1}"#, #"{"type":"unknown"}"#, #"{"type":"next","id":"1","payload":{}}"#,
    #"{"type":"complete","id":"1"}"#,
  ])
  func protocolViolationFails(_ message: String) throws {
    var state = try state()
    guard case .fail(.protocolViolation)? = state.received(message) else {
      Issue.record("\(message) was taken")
      return
    }
    #expect(state.received(#"{"type":"connection_ack"}"#) == nil)
  }
}
