import LoopbackServer
import Testing

@testable import EKNetwork

struct JSONValueTests {
  private static let chat: JSONValue = [
    "model": "small", "stream": true, "temperature": 0.5, "seed": 9_007_199_254_740_993, "stop": nil,
    "messages": [["role": "user", "content": "Say \(2)"]], "none": [:], "empty": [],
    "least": -9_223_372_036_854_775_808,
  ]
  private static let text =
    #"{"empty":[],"least":-9223372036854775808,"messages":[{"content":"Say 2","role":"user"}],"model":"small","#
    + #""none":{},"seed":9007199254740993,"stop":null,"stream":true,"temperature":0.5}"#

  private static func encode(_ value: JSONValue) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return String(decoding: try encoder.encode(value), as: UTF8.self)
  }

  private static func decode(_ text: String) throws -> JSONValue {
    try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
  }

  @Test func literalsAreEncodedAndDecoded() throws {
    #expect(try Self.encode(Self.chat) == Self.text)
    #expect(try Self.decode(Self.text) == Self.chat)
    let repeated: JSONValue = ["a": 1, "a": 2]
    #expect(repeated == .object(["a": .int(2)]))
  }

  @Test func printedValueIsItsJSON() {
    #expect("\(Self.chat)" == Self.text)
    let odd: JSONValue = ["b": ["/😀\n"], "a": .double(.nan), "c": nil]
    #expect("\(odd)" == #"{"a":"nan","b":["/😀\n"],"c":null}"#)
    #expect([JSONValue.string("a"), 1, true, nil].map(\.description) == [#""a""#, "1", "true", "null"])
  }

  @Test func integersStayExact() throws {
    for (text, value) in [
      ("9223372036854775807", JSONValue.int(.max)), ("9223372036854775808", .unsigned(1 << 63)),
      ("18446744073709551615", .unsigned(.max)), ("-9223372036854775808", .int(.min)), ("0", .int(0)),
    ] {
      #expect(try Self.decode(text) == value)
      #expect(try Self.encode(value) == text)
    }
    #expect(try Self.decode("18446744073709551616") == .double(18_446_744_073_709_551_616))
    #expect(try Self.decode("1.5e300") == .double(1.5e300))
    #expect(throws: DecodingError.self) { try Self.decode("1e999") }
  }

  /// The error is about the value that cannot be decoded, and not about the array or the object around it.
  @Test(arguments: [
    (#"{"a":[0,"\ud800"]}"#, "Path: a[1]. "), (#"{"a":{"b":1e999}}"#, "Path: a.b. "), ("[[1e999]]", "Path: [0][0]. "),
    (#""\udc00""#, ""), ("1e999", ""),
  ])
  func theErrorIsThatOfTheValue(text: String, path: String) throws {
    let error = try #require(throws: DecodingError.self) { try Self.decode(text) }
    #expect(error.reason == path + "A string that is not Unicode, a number that no type can hold, or no JSON")
  }

  @Test(arguments: [Double.nan, .infinity, -.infinity]) func numbersWithoutJSONAreErrors(number: Double) async throws {
    #expect(throws: EncodingError.self) { try Self.encode(["a": [.double(number)]]) }
    #expect(throws: EncodingError.self) { try JSONValue(encoding: number) }
    let session = StubSession()
    let manager = NetworkManager(baseURL: try #require(URL(string: "https://a.example")), session: session)
    let request = Probe<Item>(method: .post, body: RequestBody(json: ["a": .double(number)]))
    await #expect(throws: EncodingError.self) { try await manager.send(request) }
    #expect(session.requests.isEmpty)
  }

  @Test func namesAreNotConverted() throws {
    let encoder = JSONEncoder()
    encoder.keyEncodingStrategy = .convertToSnakeCase
    #expect(String(decoding: try encoder.encode(["aB": ["cD": 1]] as JSONValue), as: UTF8.self) == #"{"aB":{"cD":1}}"#)
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    #expect(try decoder.decode(JSONValue.self, from: Data(#"{"a_b":1}"#.utf8)) == ["a_b": 1])
  }

  @Test func valuesAreFoundByNameAndPosition() throws {
    let value = Self.chat
    #expect(value["messages"]?[0]?["content"]?.stringValue == "Say 2")
    #expect(value["messages"]?[1] == nil && value["messages"]?[-1] == nil)
    #expect(value["other"] == nil && value["stop"] == .null && value["model"]?["a"] == nil && value[0] == nil)
    #expect(value["seed"]?.stringValue == nil)
  }

  @Test func numbersAreReadAsTheyAreNeeded() throws {
    let numbers: [JSONValue] = [1, .unsigned(1), 1.0, 1.5, .unsigned(.max), .double(1e300), true, "1", nil]
    #expect(numbers.map(\.intValue) == [1, 1, 1, nil, nil, nil, nil, nil, nil])
    #expect(numbers.map(\.doubleValue) == [1, 1, 1, 1.5, 0x1p64, 1e300, nil, nil, nil])
    #expect(numbers.map(\.boolValue) == [nil, nil, nil, nil, nil, nil, true, nil, nil])
    #expect(JSONValue.double(.nan).intValue == nil && JSONValue.int(.min).intValue == .min)
  }

  @Test func valuesOfOtherTypesAreEncoded() throws {
    struct Draft: Encodable { let name = "a", sizes = [1, 2], price = 1.5 }
    #expect(try JSONValue(encoding: Draft()) == ["name": "a", "sizes": [1, 2], "price": 1.5])
    #expect(try JSONValue(encoding: UInt64.max) == .unsigned(.max))
    let mixed: JSONValue = [
      "count": try JSONValue(encoding: [1, 2].count), "drafts": [try JSONValue(encoding: Draft())],
    ]
    #expect(mixed["drafts"]?[0]?["name"] == "a")
  }

  /// Nesting that a server chooses is an error, not an exhausted stack.
  @Test func deepNestingIsAnError() {
    let text = String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000)
    #expect(throws: DecodingError.self) { try Self.decode(text) }
  }

  @Test(arguments: Wire.allCases) func aLiteralIsABody(wire: Wire) async throws {
    let server = try LoopbackServer()
    server.route("/chat") { request in .json(request.text) }
    let request = Probe<JSONValue>(path: "/chat", method: .post, body: RequestBody(json: Self.chat))
    #expect(try await wire.manager(server).send(request) == Self.chat)
    #expect(server.requests.first?.headers["Content-Type"] == "application/json")
    #expect(
      RequestBody(json: 1, contentType: "application/merge-patch+json").contentType == "application/merge-patch+json")
  }
}
