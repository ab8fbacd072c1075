/// A client under test: decodes 57 bytes of JSON, or counts the bytes of a large body as they arrive.
protocol Contender: Sendable {
  func get() async throws -> Item
  func stream() async throws -> Int
}

struct Item: Codable, Sendable {
  var id: Int
  var name: String
  var price: Double
}
