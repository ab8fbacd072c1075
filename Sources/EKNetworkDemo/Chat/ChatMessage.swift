/// What clients and the room say to each other, as JSON.
struct ChatMessage: Codable, Sendable {
  var type: String
  var room: String
  var user: String?
  var text: String?
}
