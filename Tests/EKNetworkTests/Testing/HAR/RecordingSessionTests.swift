import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

struct RecordingSessionTests {
  private let server: LoopbackServer

  init() throws {
    server = try LoopbackServer()
    server.route("/item") { _ in .json(Item(id: 1)) }
    server.route("/feed") { _ in .chunked([Data("one\n".utf8), Data("two\n".utf8)]) }
  }

  @Test(arguments: [TransportChoice.automatic, .urlSession])
  func recordedExchangesCanBeReplayed(_ transport: TransportChoice) async throws {
    server.route("/start", .redirect(to: "/item"))
    let session = RecordingSession(URLSession(configuration: .ephemeral), transport: transport)
    let manager = NetworkManager(baseURL: server.baseURL, session: session)
    let feed = Probe<EmptyResponse>(path: "/feed")
    #expect(try await manager.send(ItemProbe(path: "/start")) == Item(id: 1))
    for try await _ in try await manager.stream(feed).body {}
    #expect(try HARProbe.entries(session.recorder).map(\.path) == ["/start", "/item", "/feed"])

    let folder = try ScratchFolder()
    try session.recorder.write(to: folder["a.har"])
    server.stop()
    let replay = try ReplaySession(contentsOf: folder["a.har"])
    let other = NetworkManager(baseURL: server.baseURL, session: replay)
    #expect(try await other.send(ItemProbe(path: "/start")) == Item(id: 1))
    var text = Data()
    for try await chunk in try await other.stream(feed).body { text += chunk }
    #expect(text == Data("one\ntwo\n".utf8))
    #expect(replay.unusedRequests.isEmpty)
  }

  @Test func wrapsAnySession() async throws {
    let stub = StubSession()
    stub.on(.get, "/item", .json(#"{"id":3,"name":"teapot"}"#))
    stub.on(.get, "/feed", .pieces(["a", "b"]).failing(with: URLError(.networkConnectionLost)))
    stub.on(.get, "/failure", .failure(URLError(.timedOut)))
    let session = RecordingSession(stub)
    let manager = NetworkManager(baseURL: server.baseURL, session: session)
    #expect(try await manager.send(ItemProbe()) == Item(id: 3))
    await #expect(throws: URLError.self) {
      for try await _ in try await manager.stream(Probe<EmptyResponse>(path: "/feed")).body {}
    }
    await #expect(throws: URLError.self) { try await manager.send(ItemProbe(path: "/failure")) }
    let entries = try HARProbe.entries(session.recorder)
    #expect(entries.map(\.status) == [200, 200, 0])
    #expect(entries.map(\.error) == [nil, "URLError -1005", "URLError -1001"])
    #expect(entries[1].body == Data("ab".utf8))

    let replay = NetworkManager(baseURL: server.baseURL, session: try ReplaySession(session.recorder))
    let error = await #expect(throws: URLError.self) { try await replay.send(ItemProbe(path: "/failure")) }
    #expect(error?.code == .timedOut)
    #expect(server.requestCount == 0)
  }

  @Test func cancellingEndsTheRequest() async throws {
    let arrived = Gate()
    server.route("/slow") { _ in .streaming([.open(arrived), .stall]) }
    let session = RecordingSession(URLSession(configuration: .ephemeral))
    let manager = NetworkManager(baseURL: server.baseURL, session: session)
    let task = Task { try await manager.send(ItemProbe(path: "/slow")) }
    await arrived.wait()
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(await server.waitForOpenConnections(0))
    #expect(try HARProbe.entries(session.recorder).map(\.error) == ["CancellationError"])
  }
}
