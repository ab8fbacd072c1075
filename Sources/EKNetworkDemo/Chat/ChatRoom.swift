import Foundation
import LoopbackServer

/// A chat room on the loopback server: it sends each message to all members, and a member who reconnects receives the
/// messages sent meanwhile. A member who mentions a tunnel is disconnected.
///
/// Unchecked: the members and the log are protected by the lock, and so are all writes to the peers; each peer is read
/// by the thread of its own connection.
final class ChatRoom: @unchecked Sendable {
  private let lock = NSLock()
  private var members: [String: LoopbackServer.WebSocketPeer] = [:]
  private var log: [ChatMessage] = []
  /// The number of log entries that each user has received.
  private var heard: [String: Int] = [:]

  func serve(_ peer: LoopbackServer.WebSocketPeer) {
    var user = "?"
    defer { lock.withLock { members[user] = nil } }
    while let frame = peer.readFrame() {
      switch frame.opcode {
      case 8:
        _ = lock.withLock { peer.send(opcode: 8, frame.payload) }
        return
      case 9: _ = lock.withLock { peer.send(opcode: 10, frame.payload) }
      case 1:
        guard var message = try? JSONDecoder().decode(ChatMessage.self, from: frame.payload) else { continue }
        if message.type == "join" {
          user = message.user ?? "?"
          join(user, peer, message)
        } else {
          message.user = user
          lock.withLock { say(message) }
        }
        if message.text?.contains("tunnel") == true {
          lock.withLock { members[user] = nil }
          return peer.bytes.reset()
        }
      default: break
      }
    }
  }

  private func join(_ user: String, _ peer: LoopbackServer.WebSocketPeer, _ message: ChatMessage) {
    lock.withLock {
      members[user] = peer
      for missed in log[(heard[user] ?? log.count)...] { write(missed, to: peer) }
      say(message)
    }
  }

  private func say(_ message: ChatMessage) {
    log.append(message)
    for (user, peer) in members {
      write(message, to: peer)
      heard[user] = log.count
    }
  }

  private func write(_ message: ChatMessage, to peer: LoopbackServer.WebSocketPeer) {
    if let data = try? JSONEncoder().encode(message) { peer.send(opcode: 1, data) }
  }
}
