import EKNetwork
import LoopbackServer

private struct Reading: Codable, Equatable, Sendable {
  let celsius: Double
}

private struct Get: NetworkRequest {
  typealias Response = EmptyResponse
  let path: String
  let method = HTTPMethod.get
}

extension Step {
  static let feed = Step(
    title: "A live feed of NDJSON",
    code: """
      let response = try await manager.stream(Feed())
      for try await reading in response.ndjson(as: Reading.self) { show(reading) }
      """
  ) { stage in
    // The server sends each reading only after the previous one has been shown.
    let readings = [19.5, 20, 20.5, 21].map { Reading(celsius: $0) }
    let gates = readings.map { _ in Gate() }
    var steps: [LoopbackServer.Response.Step] = []
    for (reading, gate) in zip(readings, gates) {
      steps += [.chunk(try JSONEncoder().encode(reading) + Data("\n".utf8)), .wait(gate)]
    }
    let body = steps + [.endOfChunks(trailers: [:])]
    stage.server.route("GET", "/feed") { _ in .streaming(headers: ["Content-Type": "application/x-ndjson"], body) }
    var shown: [Reading] = []
    for try await reading in try await stage.manager().stream(Get(path: "/feed")).ndjson(as: Reading.self) {
      stage.note("\(reading.celsius) °C")
      gates[shown.count].open()
      shown.append(reading)
    }
    try expect(shown == readings, "the feed came as \(shown)")
    return "\(shown.count) records, each shown before the next was sent"
  }

  static let subscription = Step(
    title: "Server-sent events, and a restart",
    code: """
      // Reconnects, and resumes after the last event.
      for try await event in manager.events(Events()) {
        show(event)
      }
      """
  ) { stage in
    stage.server.route("GET", "/events") { events(after: $0, count: 3) }
    let port = stage.server.port
    let manager = stage.manager()
    var restart: Task<LoopbackServer, any Error>?
    var shown: [String] = []
    let patience = EventReconnectPolicy(
      initialDelay: .milliseconds(50), maximumDelay: .milliseconds(200), maximumFailures: 50)
    for try await event in manager.events(Get(path: "/events"), reconnect: patience) {
      stage.note("\(event.id): \(event.data)")
      shown.append(event.id)
      if shown.count == 3 {
        restart = Task {
          stage.server.stop()
          stage.note("the server is gone")
          try await Task.sleep(for: .milliseconds(200))
          let isReady = Gate()
          let server = try LoopbackServer {
            $0.port = port
            $0.acceptGate = isReady
          }
          server.route("GET", "/events") { events(after: $0, count: 3) }
          isReady.open()
          stage.note("another one has its port")
          return server
        }
      }
      if shown.count == 6 { break }
    }
    let resumed = try await restart?.value
    defer { resumed?.stop() }
    try expect(shown == (1...6).map { "\($0)" }, "the events came as \(shown)")
    let resumption = resumed?.requests(path: "/events").last?.headers["Last-Event-ID"]
    try expect(resumption == "3", "the subscription resumed after \(resumption ?? "nothing")")
    return "\(shown.count) events, none lost, none twice; resumed after event 3"
  }

  /// Returns the events after the last one that the client has received; then the stream stays silent.
  private static func events(after request: LoopbackServer.Request, count: Int) -> LoopbackServer.Response {
    let last = request.headers["Last-Event-ID"].flatMap { Int($0) } ?? 0
    let events = (last + 1...last + count).map { "id: \($0)\ndata: tick\n\n" }.joined()
    return .streaming(headers: ["Content-Type": "text/event-stream"], [.chunk(Data(events.utf8)), .stall])
  }
}
