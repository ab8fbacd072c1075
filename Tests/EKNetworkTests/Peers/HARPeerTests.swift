#if os(Linux)
  import Foundation
  import FoundationNetworking
  import LoopbackServer
  import Testing

  @testable import EKNetwork

  /// A HAR file, read by haralyzer.
  @Suite("HAR peers", .timeLimit(.minutes(10)), .enabled(if: PeerProcess.has("haralyzer")))
  struct HARPeerTests {
    private struct Entry: Decodable {
      var method: String
      var url: String
      var query: [String]
      var accept: String?
      var sent: String?
      var status: Int
      var type: String
      var size: Int
      var text: String?
      var encoding: String?
      var redirect: String
      var time: Double
    }

    private func read(_ recorder: HARRecorder) throws -> [Entry] {
      let folder = try ScratchFolder()
      try recorder.write(to: folder["a.har"])
      let script = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Peers/har.py")
      let python = try #require(PeerProcess.python)
      let said = try ChildProcess(python, ["-B", script.path, folder["a.har"].path]).run()
      return try JSONDecoder().decode([Entry].self, from: said)
    }

    @Test("Entries of every kind are read correctly by haralyzer", arguments: [false, true])
    func entries(revealsSecrets: Bool) async throws {
      let server = try LoopbackServer()
      server.route("/start", .status(503), .redirect(to: "/item?id=1"))
      server.route("/item") { _ in .json(#"{"id":1,"name":"чайник 🫖"}"#) }
      server.route("/binary") { _ in .data(Data([0, 0xFF, 0x80])) }
      server.route("/broken") { _ in .raw([.reset]) }
      let recorder = HARRecorder(options: HAROptions(revealsSecrets: revealsSecrets, maximumBodySize: 1000))
      let manager = Wire.automatic.manager(server)
      manager.attemptMiddleware = [recorder]
      var probe = ItemProbe(path: "/start", queryParameters: ["q": "чай & co"])
      probe.retryPolicy = RetryPolicy(maxRetryCount: 1, delay: 0)
      _ = try await manager.send(probe)
      var post = Probe<StatusCodeResponse>(path: "/binary", method: .post)
      post.body = RequestBody(data: Data("sent".utf8), contentType: "text/plain")
      _ = try await manager.send(post)
      await #expect(throws: URLError.self) { try await manager.send(ItemProbe(path: "/broken")) }

      let entries = try read(recorder)
      #expect(entries.map(\.status) == [503, 302, 200, 200, 0])
      #expect(entries.map(\.method) == ["GET", "GET", "GET", "POST", "GET"])
      #expect(entries.allSatisfy { $0.time >= 0 && $0.accept == "application/json" })
      #expect(!entries[1].redirect.isEmpty && entries[2].url.hasSuffix(entries[1].redirect))
      #expect(entries[0].query.count == 1 && (entries[0].query == ["чай & co"]) == revealsSecrets)
      #expect(entries[2].text == #"{"id":1,"name":"чайник 🫖"}"# && entries[2].type == "application/json")
      #expect(entries[2].size == entries[2].text?.utf8.count)
      #expect(entries[3].encoding == "base64" && entries[3].text == "AP+A" && entries[3].size == 3)
      #expect(entries[3].sent == (revealsSecrets ? "sent" : ""))
    }
  }
#endif
