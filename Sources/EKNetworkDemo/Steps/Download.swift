import EKNetwork
import LoopbackServer

private struct Film: NetworkRequest {
  typealias Response = EmptyResponse
  let progress: NetworkProgress?
  let path = "/film"
  let method = HTTPMethod.get
  var retryPolicy: RetryPolicy { RetryPolicy(maxRetryCount: 3, delay: 0.1) }
}

extension Step {
  static let download = Step(
    title: "A download that breaks off twice",
    code: """
      let film = folder.appendingPathComponent("film.mp4")
      // Its retryPolicy allows three more attempts.
      try await manager.download(Film(progress: progress), to: film)
      """
  ) { stage in
    var content = Data(capacity: 64 << 20)
    for block in 0..<64 { content.append(Data(repeating: UInt8(block), count: 1 << 20)) }
    let breaks = [24 << 20, 25 << 20]
    stage.server.route("/film") { [content] request in
      let first = request.headers["Range"].flatMap { Int($0.dropFirst("bytes=".count).dropLast()) } ?? 0
      let isPart = first > 0 && request.headers["If-Range"] == "\"v1\""
      var head = "HTTP/1.1 \(isPart ? "206 Partial Content" : "200 OK")\r\nETag: \"v1\"\r\n"
      head += "Content-Length: \(content.count - first)\r\n"
      if isPart { head += "Content-Range: bytes \(first)-\(content.count - 1)/\(content.count)\r\n" }
      let rest = content[first...]
      let index = request.indexOfDownload(stage.server)
      let sent = index < breaks.count ? rest.prefix(breaks[index]) : rest
      return .raw([.sendString(head + "\r\n"), .send(Data(sent)), .close])
    }
    let film = stage.folder.appendingPathComponent("film.mp4")
    let progress = NetworkProgress()
    let display = stage.terminal.follow(progress)
    let file = try await stage.manager().download(Film(progress: progress), to: film)
    await display.value
    let ranges = stage.server.requests(path: "/film").map { $0.headers["Range"] ?? "everything" }
    for range in ranges { stage.note("the client asked for \(range)") }
    try expect(try Data(contentsOf: film) == content, "the file is another one")
    try expect(ranges.count == 3 && Set(ranges).count == 3, "the client asked for \(ranges)")
    return "\(file.size) bytes, each of them sent once, in \(ranges.count) responses"
  }
}

extension LoopbackServer.Request {
  /// Returns the number of requests for the path before this one.
  fileprivate func indexOfDownload(_ server: LoopbackServer) -> Int {
    server.requests(path: path).filter { $0.receivedAt < receivedAt }.count
  }
}
