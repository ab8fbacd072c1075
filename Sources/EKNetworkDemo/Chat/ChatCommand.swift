import EKNetwork

/// The commands of the example client.
enum ChatCommand: PrismNetworkSocketCommand {
  case join(room: String, user: String)
  case message(room: String, text: String)

  var message: String {
    switch self {
    case .join(let room, let user): #"{"type":"join","room":"\#(room)","user":"\#(user)"}"#
    case .message(let room, let text): #"{"type":"message","room":"\#(room)","text":"\#(text)"}"#
    }
  }
}
