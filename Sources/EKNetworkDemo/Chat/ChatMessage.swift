/// A message between clients and the room, encoded as JSON.
struct ChatMessage: Codable, Sendable {
  var type: String
  var room: String
  var user: String?
  var text: String?
}
