import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

struct NetworkEventsTests {
  private final class Recorder: Sendable {
    private let recorded = Locked<[NetworkEvent]>([])
    var events: [NetworkEvent] { recorded.withLock { $0 } }
    var names: [String] { events.map(\.kind.name) }
    func listen(to manager: NetworkManager) {
      manager.eventHandler = { event in self.recorded.withLock { $0.append(event) } }
    }
  }

  private final class Refresher: TokenRefreshProvider {
    func refreshTokenIfNeeded() async throws {}
  }

  @Test(arguments: Wire.allCases) func everyStepIsReportedAsEvent(_ wire: Wire) async throws {
    let server = try LoopbackServer()
    defer { server.stop() }
    server.route(
      "/item", .redirect(to: "/there", status: 307), .status(401), .status(503), .json(Item(id: 1)), .json(Item(id: 2)))
    server.route("/there") { _ in .redirect(to: "/item", status: 307) }
    let manager = wire.manager(server, clock: RecordingClock())
    manager.tokenRefresher = Refresher()
    let recorder = Recorder()
    recorder.listen(to: manager)
    _ = try await manager.send(ItemProbe(retryPolicy: .transientFailures))
    #expect(
      recorder.names == [
        "started /item 1", "redirected 307 /there", "redirected 307 /item", "refreshing", "started /item 2",
        "retrying 3 HTTPError", "started /item 3", "finished 200",
      ])
    let events = recorder.events
    #expect(Set(events.map(\.request)).count == 1)
    #expect(events.allSatisfy { $0.method == "GET" })
    #expect(zip(events, events.dropFirst()).allSatisfy { $0.elapsed <= $1.elapsed })
    guard case .finished(_, let bytes, let timings) = try #require(events.last).kind else { return }
    #expect(bytes == 24)
    #expect(timings.total > .zero)

    _ = try await manager.send(ItemProbe())
    #expect(Set(recorder.events.map(\.request)).count == 2)
    manager.eventHandler = nil
    _ = try? await manager.send(ItemProbe())
    #expect(recorder.events.count == events.count + 2)
  }

  @Test func endOfStreamIsReported() async throws {
    let server = try LoopbackServer()
    defer { server.stop() }
    let gate = Gate()
    server.route("/item") { _ in .streaming([.chunk(Data(count: 5)), .wait(gate), .endOfChunks()]) }
    server.route("/cut") { _ in .streaming(contentLength: 10, [.send(Data(count: 5))]).then(.closeSilently) }
    let manager = Wire.automatic.manager(server)
    let recorder = Recorder()
    recorder.listen(to: manager)
    let response = try await manager.stream(ItemProbe(), accessToken: nil)
    #expect(recorder.names == ["started /item 1"])
    gate.open()
    for try await _ in response.chunks {}
    #expect(recorder.names == ["started /item 1", "finished 200"])
    let cut = try await manager.stream(ItemProbe(path: "/cut"), accessToken: nil)
    await #expect(throws: URLError.self) { for try await _ in cut.chunks {} }
    #expect(recorder.names.suffix(2) == ["started /cut 1", "failed URLError"])
    for try await _ in try await manager.stream(ItemProbe(), accessToken: nil).chunks { break }
    #expect(recorder.names.suffix(2) == ["started /item 1", "failed CancellationError"])
  }

  /// Not as one that was cancelled, which a log does not report as an error.
  @Test func streamThatCannotBeParsedIsReportedAsFailed() async throws {
    let server = try LoopbackServer()
    defer { server.stop() }
    server.route("/item") { _ in .streaming([.chunk(Data("no record\n".utf8)), .stall]) }
    let (manager, har) = (Wire.automatic.manager(server), HARRecorder())
    manager.middleware = [har]
    let recorder = Recorder()
    recorder.listen(to: manager)
    let records = try await manager.stream(ItemProbe(), accessToken: nil)
    await #expect(throws: DecodingError.self) { for try await _ in records.ndjson(as: Item.self) {} }
    let lines = try await manager.stream(ItemProbe(), accessToken: nil)
    await #expect(throws: StreamLineTooLongError.self) { for try await _ in lines.lines(maximumLength: 5) {} }
    #expect(
      recorder.names == [
        "started /item 1", "failed DecodingError", "started /item 1", "failed StreamLineTooLongError",
      ])
    let errors = try HARProbe.entries(har).compactMap(\.error)
    #expect(errors.count == 2 && !errors.contains { $0.hasPrefix("CancellationError") })
  }

  #if os(Linux)
    @Test func downloadsAndUploadsReportTheirLastExchange() async throws {
      let file = try RangeServer(Data.noise(1_000))
      let uploads = try UploadServer(.tus)
      let folder = try ScratchFolder()
      let recorder = Recorder()
      let manager = Wire.automatic.isolatedManager(file.server)
      recorder.listen(to: manager)
      _ = try await manager.download(FileRequest(), to: folder["a"])
      let uploader = Wire.automatic.isolatedManager(uploads.server)
      recorder.listen(to: uploader)
      _ = try await uploader.upload(CreateUpload(), fromFile: folder["a"], options: UploadOptions(using: .tus))
      let timings = recorder.events.compactMap { event -> NetworkTimings? in
        guard case .finished(_, _, let timings) = event.kind else { return nil }
        return timings
      }
      #expect(timings.map(\.protocolName) == ["HTTP/1.1", "HTTP/1.1"])
      #expect(timings.first?.isConnectionReused == false)
      #expect(timings.last?.isConnectionReused != nil)
    }

    @Test func timingsSeparateConnectingFromWaiting() async throws {
      let server = try LoopbackServer()
      defer { server.stop() }
      server.route("/item") { _ in .json(Item(id: 1)) }
      let manager = Wire.automatic.isolatedManager(server)
      let recorder = Recorder()
      recorder.listen(to: manager)
      _ = try await manager.send(ItemProbe())
      _ = try await manager.send(ItemProbe())
      let timings = recorder.events.compactMap { event -> NetworkTimings? in
        guard case .finished(_, _, let timings) = event.kind else { return nil }
        return timings
      }
      let (first, second) = (try #require(timings.first), try #require(timings.last))
      #expect(first.isConnectionReused == false)
      #expect(first.protocolName == "HTTP/1.1")
      #expect(first.remoteAddress == "127.0.0.1")
      #expect(first.secureConnect == nil)
      let phases = try #require(first.nameLookup) + #require(first.connect)
      #expect(try phases <= #require(first.firstByte))
      #expect(try #require(first.firstByte) <= first.total)
      #expect(second.isConnectionReused == true)
      #expect(second.nameLookup == nil && second.connect == nil)
    }
  #endif
}

extension NetworkEvent.Kind {
  fileprivate var name: String {
    switch self {
    case .attemptStarted(let url, let attempt): "started \(url.path) \(attempt)"
    case .redirected(let status, let url): "redirected \(status) \(url.path)"
    case .refreshingToken: "refreshing"
    case .retrying(let attempt, _, let error): "retrying \(attempt) \(type(of: error))"
    case .finished(let status, _, _): "finished \(status)"
    case .failed(let error): "failed \(type(of: error))"
    }
  }
}
