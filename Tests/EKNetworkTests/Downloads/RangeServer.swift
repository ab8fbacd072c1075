import Foundation
import LoopbackServer

@testable import EKNetwork

/// A file on the loopback server, with byte ranges, and connections that break where a test wants.
final class RangeServer: Sendable {
  struct State {
    var content: Data
    var tag: String? = "\"v1\""
    /// The next responses break off after so many bytes of their bodies.
    var breaks: [Int] = []
    var ignoresRanges = false
    var ranges: [String?] = []
    var sent = 0
  }

  let server: LoopbackServer
  let state: Locked<State>

  init(_ content: Data) throws {
    server = try LoopbackServer()
    state = Locked(State(content: content))
    server.route("/file") { [state] request in state.withLock { $0.respond(request) } }
  }

  deinit { server.stop() }

  var ranges: [String?] { state.withLock { $0.ranges } }
}

extension RangeServer.State {
  fileprivate mutating func respond(_ request: LoopbackServer.Request) -> LoopbackServer.Response {
    ranges.append(request.headers["Range"])
    var first = 0
    if let range = request.headers["Range"], !ignoresRanges, tag != nil, request.headers["If-Range"] == tag {
      first = Int(range.dropFirst("bytes=".count).dropLast()) ?? 0
    }
    let rest = content.suffix(from: first)
    var lines = [first == 0 ? "HTTP/1.1 200 OK" : "HTTP/1.1 206 Partial Content", "Content-Length: \(rest.count)"]
    if let tag { lines.append("ETag: \(tag)") }
    if first > 0 { lines.append("Content-Range: bytes \(first)-\(content.count - 1)/\(content.count)") }
    guard first < content.count || content.isEmpty else {
      return .status(416, headers: ["Content-Range": "bytes */\(content.count)"])
    }
    let head = Data((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    let isBroken = !breaks.isEmpty
    let body = isBroken ? rest.prefix(breaks.removeFirst()) : rest
    sent += body.count
    return .raw([.send(head), .send(Data(body))] + (isBroken ? [.close] : []))
  }
}

struct FileRequest: NetworkRequest {
  typealias Response = EmptyResponse
  var path = "/file"
  var method = HTTPMethod.get
  var headers: [String: String]?
  var progress: NetworkProgress?
  var retryPolicy = RetryPolicy()
  var maximumResponseSize: Int64?
}
