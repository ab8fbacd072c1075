#if os(Linux)
  import EKNetwork
  import LoopbackServer

  private struct GetInfo: NetworkRequest {
    typealias Response = Info
    struct Info: Codable { let containers: Int }
    let path = "/info"
    let method = HTTPMethod.get
  }

  private struct Talk: NetworkRequest {
    typealias Response = EmptyResponse
    let lines: AsyncStream<Data>
    let sum: @Sendable () -> HeaderFieldList
    let path = "/talk"
    let method = HTTPMethod.post
    var body: RequestBody? { RequestBody(sequence: lines, contentType: "text/plain", trailers: sum) }
  }

  extension Step {
    static let socket = Step(
      title: "A server behind a Unix socket",
      code: """
        let url = URL(string: "http+unix://%2Frun%2Facme.sock")!
        let daemon = NetworkManager(baseURL: url)
        let info = try await daemon.send(GetInfo())
        """
    ) { stage in
      let path = stage.folder.appendingPathComponent("a.sock").path
      let server = try LoopbackServer { $0.socketPath = path }
      defer { server.stop() }
      server.route("/info") { _ in .json(GetInfo.Info(containers: 3)) }
      let url = URL(string: "http+unix://\(path.replacing("/", with: "%2F"))")
      let daemon = NetworkManager(baseURL: url ?? stage.server.baseURL)
      let info = try await daemon.send(GetInfo())
      stage.showWire(server.requests)
      try expect(info.containers == 3, "it has \(info.containers) containers")
      return "\(info.containers) containers, by way of a file"
    }

    static let conversation = Step(
      title: "Both directions at once",
      code: """
        let (lines, input) = AsyncStream<Data>.makeStream()
        // Reads while it sends.
        let response = try await manager.stream(Talk(lines: lines))
        for try await line in response.body.lines() {
          input.yield(answer(to: line))
        }
        """
    ) { stage in
      stage.server.route("POST", "/talk", onHead: { _ in .converse { $0 } }) { _ in .status(200) }
      let (lines, input) = AsyncStream<Data>.makeStream()
      // Each line is sent once the one before it has come back.
      input.yield(Data("1\n".utf8))
      let talk = Talk(lines: lines, sum: { ["X-Lines": "3"] })
      let response = try await stage.manager().stream(talk)
      var count = 0
      for try await line in response.body.lines() {
        count += 1
        stage.note("sent \(count), received \(line)")
        if count < 3 { input.yield(Data("\(count + 1)\n".utf8)) } else { input.finish() }
      }
      try expect(count == 3, "\(count) lines came back")
      let trailer = response.trailers.value(for: "X-Lines")
      try expect(trailer == "3", "the trailer is \(trailer ?? "missing")")
      return "3 lines, each sent after the one before it had come back; then trailers"
    }
  }
#endif
