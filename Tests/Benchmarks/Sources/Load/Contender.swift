/// What every client does here: 57 bytes of JSON, decoded; and a large body, counted as it comes.
protocol Contender: Sendable {
  func get() async throws -> Item
  func stream() async throws -> Int
}

struct Item: Codable, Sendable {
  var id: Int
  var name: String
  var price: Double
}
