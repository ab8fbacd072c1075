import LoopbackServer
import Testing

@testable import EKNetwork

@Suite(.timeLimit(.minutes(10))) struct StreamingBodyTests {
  private let server: LoopbackServer

  init() throws { server = try LoopbackServer() }

  private func response(_ chunks: [Data]) -> StreamingResponse {
    let stream = AsyncThrowingStream<Data, Error> { continuation in
      for chunk in chunks { continuation.yield(chunk) }
      continuation.finish()
    }
    return StreamingResponse(statusCode: 200, headers: [:], chunks: stream)
  }

  private func all<S: AsyncSequence>(_ sequence: S) async throws -> [S.Element] {
    var elements: [S.Element] = []
    for try await element in sequence { elements.append(element) }
    return elements
  }

  /// The elements of a sequence, and the error that ended it.
  private func some<S: AsyncSequence>(_ sequence: S) async -> (elements: [S.Element], error: (any Error)?) {
    var elements: [S.Element] = []
    do {
      for try await element in sequence { elements.append(element) }
      return (elements, nil)
    } catch {
      return (elements, error)
    }
  }

  @Test func everyBodySequenceHasTheSameContent() async throws {
    let input = Data("data: a\n\n{\"id\":1,\"name\":\"ü\"}\r\n\ndata: b\n\n".utf8)
    for chunks in cuts(of: input) where chunks.count < 20 {
      let chunks = chunks.filter { !$0.isEmpty }
      #expect(try await all(response(chunks).body) == chunks)
      #expect(try await all(response(chunks).body.bytes) == Array(input))
      #expect(try await all(response(chunks).body.lines()) == all(response(chunks).lines()))
      #expect(try await all(response(chunks).body.events()).map(\.data) == ["a", "b"])
      let items = response(chunks).body.ndjson(as: Item.self) { #expect([1, 5].contains($0.line)) }
      #expect(try await all(items) == [Item(id: 1, name: "ü")])
    }
  }

  @Test func invalidRecordEndsSequence() async throws {
    let records = response([Data("{\"id\":1,\"name\":\"a\"}\n[]\n{\"id\":2,\"name\":\"b\"}\n".utf8)])
      .body.ndjson(as: Item.self)
    let (items, error) = await some(records)
    #expect(items.map(\.id) == [1])
    #expect(error is DecodingError)
    #expect(try await all(records).isEmpty)
  }

  @Test func secondLoopContinuesWhereFirstStopped() async throws {
    let lines = response([Data("a\nb\nc\n".utf8)]).body.lines()
    for try await line in lines {
      #expect(line == "a")
      break
    }
    #expect(try await all(lines) == ["b", "c"])
  }

  @Test(arguments: Wire.allCases)
  func leavingTheLoopClosesTheConnection(_ wire: Wire) async throws {
    server.route("/item") { _ in .streaming(contentLength: 1_000_000, [.sendString("a\nb\n"), .stall]) }
    for try await line in try await wire.manager(server).stream(Probe<EmptyResponse>()).body.lines() {
      #expect(line == "a")
      break
    }
    #expect(await server.waitForOpenConnections(0))
  }

  /// No task was cancelled, and the rest is not there.
  @Test(arguments: Wire.allCases)
  func readingWhatALoopHasLeftIsAnError(_ wire: Wire) async throws {
    server.route("/item") { _ in .streaming(contentLength: 1_000_000, [.sendString("a\nb\n"), .stall]) }
    let response = try await wire.manager(server).stream(Probe<EmptyResponse>())
    func leave() async throws { for try await _ in response.body { break } }
    try await leave()
    let lines = response.body.lines()
    // Also a second time: the end of the loop would look like that of the body.
    for _ in 0..<2 { await #expect(throws: ConcurrentReadError.self) { try await all(lines) } }
    await #expect(throws: ConcurrentReadError.self) { try await all(response.bytes) }
    let cancelled = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await all(lines)
    }
    await #expect(throws: CancellationError.self) { try await cancelled.value }
  }

  /// A body that has arrived, so that its end does not depend on a loop that is left.
  private final class ArrivedBody: TransportBody {
    private let chunks = Locked(["a\n", "b\n"].map { Data($0.utf8) })

    func next() async throws -> Data? { chunks.withLock { $0.isEmpty ? nil : $0.removeFirst() } }
    func cancel() {}
  }

  /// What the first loop has not read is not the whole body.
  @Test func restOfBodyThatHasArrivedIsNotTheWhole() async throws {
    let response = StreamingResponse(statusCode: 200, headers: [:], source: ArrivedBody())
    func leave() async throws { for try await _ in response.body { break } }
    try await leave()
    await #expect(throws: ConcurrentReadError.self) { try await all(response.body.lines()) }
  }

  @Test(arguments: Wire.allCases)
  func cancellingTheTaskClosesTheConnection(_ wire: Wire) async throws {
    server.route("/item") { _ in .streaming(contentLength: 1_000_000, [.sendString("abc"), .stall]) }
    let hasBegun = Gate()
    let manager = wire.manager(server)
    let task = Task {
      for try await byte in try await manager.stream(Probe<EmptyResponse>()).body.bytes where byte == UInt8(ascii: "c")
      {
        hasBegun.open()
      }
    }
    #expect(await hasBegun.wait())
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(await server.waitForOpenConnections(0))
  }

  @Test(arguments: Wire.allCases)
  func cancellationEndsLoopWithinAChunk(_ wire: Wire) async throws {
    server.route("/item") { _ in .streaming(contentLength: 1_000_000, [.sendString("a\nb\nc\n"), .stall]) }
    let lines = try await wire.manager(server).stream(Probe<EmptyResponse>()).body.lines()
    let task = Task {
      var count = 0
      do {
        for try await _ in lines {
          count += 1
          withUnsafeCurrentTask { $0?.cancel() }
        }
      } catch is CancellationError {
        return count
      }
      return -1
    }
    #expect(try await task.value == 1)
    #expect(await server.waitForOpenConnections(0))
  }

  @Test(arguments: Wire.allCases)
  func completeLinesArriveBeforeTheError(_ wire: Wire) async throws {
    server.route("/item") { _ in .streaming(contentLength: 1_000_000, [.sendString("a\nb\ncut"), .close]) }
    let lines = try await wire.manager(server).stream(Probe<EmptyResponse>()).body.lines()
    let (elements, error) = await some(lines)
    #expect(elements == ["a", "b"])
    #expect((error as? URLError)?.code == .networkConnectionLost)
    #expect(try await all(lines).isEmpty)
  }

  /// Each of them would get only a part of the lines.
  @Test func concurrentLoopIsAnError() async throws {
    server.route("/item") { _ in .streaming(contentLength: 1_000_000, [.sendString("a\n"), .stall]) }
    let lines = try await Wire.automatic.manager(server).stream(Probe<EmptyResponse>()).body.lines()
    let isRefused = Gate()
    // The second may start while the first processes its line; of three, two read at once.
    let loops = (0..<3).map { _ in
      Task {
        do {
          for try await _ in lines {}
        } catch is ConcurrentReadError {
          isRefused.open()
        }
      }
    }
    #expect(await isRefused.wait())
    for loop in loops { loop.cancel() }
    for loop in loops { _ = await loop.result }
    #expect(await server.waitForOpenConnections(0))
  }
}
