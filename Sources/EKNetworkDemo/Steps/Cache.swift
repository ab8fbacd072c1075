import EKNetwork
import LoopbackServer

private struct Feed: NetworkRequest {
  struct Response: Decodable {
    var items: [String]
    /// The value of the `Cache-Status` field (RFC 9211).
    var cacheStatus: String?
  }

  let path = "/feed"
  let method = HTTPMethod.get

  func decodeResponse(data: Data, response: URLResponse) throws -> Response {
    var feed = try JSONDecoder().decode(Response.self, from: data)
    feed.cacheStatus = (response as? HTTPURLResponse)?.value(forHTTPHeaderField: "Cache-Status")
    return feed
  }
}

extension Step {
  static let cache = Step(
    title: "A feed that did not change, and an outage",
    code: """
      manager.httpCache = HTTPCache()
      let feed = try await manager.send(Feed())
      """
  ) { stage in
    let items = (1...2000).map { "\"entry number \($0)\"" }.joined(separator: ",")
    stage.server.route("/feed") { request in
      let isKnown = request.headers["If-None-Match"] == "\"7\""
      return (isKnown ? LoopbackServer.Response.status(304) : .json("{\"items\":[\(items)]}"))
        .header("ETag", "\"7\"").header("Cache-Control", "max-age=0, stale-if-error=3600")
    }
    let manager = stage.manager()
    manager.httpCache = HTTPCache()
    var bytes: [Int] = []
    var statuses: [String] = []
    for round in 0..<3 {
      if round == 2 { stage.server.route("/feed") { _ in .status(503) } }
      let before = stage.server.bytesSent
      let feed = try await manager.send(Feed())
      bytes.append(stage.server.bytesSent - before)
      statuses.append(feed.cacheStatus ?? "")
      stage.note("\(bytes[round]) bytes: \(statuses[round].replacing("EKNetwork; ", with: ""))")
      try expect(feed.items.count == 2000, "the feed has \(feed.items.count) items")
    }
    let requests = stage.server.requests(path: "/feed")
    try expect(requests.count == 3, "\(requests.count) requests were sent")
    try expect(requests[1].headers["If-None-Match"] == "\"7\"", "the second request has no condition")
    try expect(bytes[1] * 20 < bytes[0], "the feed came twice")
    try expect(statuses[2].contains("stale-if-error"), "the outage was not seen")
    return "the whole feed once, then a 304 of \(bytes[1]) bytes, then what was stored"
  }
}
