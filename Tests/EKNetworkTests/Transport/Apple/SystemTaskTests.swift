import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("Exchange on a suspendable task", .timeLimit(.minutes(10)))
struct SystemTaskTests {
  private func start(_ server: LoopbackServer, limit: Int) throws -> (TaskResponseStream, SystemTask) {
    let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/"))
    let taskResponse = TaskResponseStream(
      TransportRequest(URLRequest(url: url)), idleTimeout: nil, limit: limit, overflow: .suspend,
      queue: DispatchQueue(label: "SystemTaskTests"))
    let task = SystemTask(taskResponse, port: server.port, target: "/")
    taskResponse.gate.start(task)
    return (taskResponse, task)
  }

  @Test("Repeated suspensions lose no bytes, and each is balanced by a resume")
  func everyByte() async throws {
    let body = Data.noise(8_000_000)
    let server = try LoopbackServer()
    server.route("/") { _ in .data(body) }
    let (taskResponse, task) = try start(server, limit: 20_000)
    _ = try await taskResponse.head()
    var received = Data()
    while let data = try await taskResponse.next() { received.append(data) }
    #expect(received == body)
    #expect(task.suspensions > 0)
    #expect(task.faults == 0)
    server.stop()
  }

  @Test("A consumer that does not read suspends the task")
  func stopsTheTask() async throws {
    let server = try LoopbackServer()
    server.route("/") { _ in .data(.noise(16_000_000)) }
    let (taskResponse, task) = try start(server, limit: 100_000)
    _ = try await taskResponse.head()
    while task.suspensions == 0 { await Task.yield() }
    taskResponse.cancel()
    await #expect(throws: CancellationError.self) { try await taskResponse.next() }
    #expect(task.read < 8_000_000)
    server.stop()
  }

  @Test("Callbacks after a cancellation are ignored")
  func lateCallbacks() async throws {
    let server = try LoopbackServer()
    server.route("/") { _ in .data(.noise(1_000_000)) }
    let (taskResponse, _) = try start(server, limit: 1_000)
    _ = try await taskResponse.head()
    taskResponse.cancel()
    taskResponse.didReceive(Data([1]))
    taskResponse.didComplete(nil, response: nil)
    await #expect(throws: CancellationError.self) { try await taskResponse.next() }
    server.stop()
  }

  @Test("A failed body ends the exchange with its error, and its stream closes after the task")
  func failedBody() async throws {
    let folder = try ScratchFolder()
    let file = try folder.file("body", .noise(100))
    let segment = try FileSegment(file)
    try folder.file("body", .noise(99))
    var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:1/")))
    let body = BodyInputStream(.segments([.file(segment)]))
    request.httpBodyStream = body
    let taskResponse = TaskResponseStream(
      TransportRequest(request), idleTimeout: nil, limit: 1, overflow: .suspend,
      queue: DispatchQueue(label: "SystemTaskTests"))
    let task = RecordingTask()
    taskResponse.gate.start(task)
    taskResponse.pump(body, into: MemorySink { task.note("closed") })
    await #expect(throws: RequestBodyError.fileChanged(file, announced: 100, actual: 99)) {
      try await taskResponse.head()
    }
    while task.notes.count < 2 { await Task.yield() }
    task.note("completed")
    // Foundation's own error arrives late, and does not replace the reason.
    taskResponse.didComplete(URLError(.cancelled), response: nil)
    while task.notes.count < 4 { await Task.yield() }
    #expect(task.notes == ["resumed", "cancelled", "completed", "closed"])
    await #expect(throws: RequestBodyError.self) { try await taskResponse.next() }
  }

  @Test("After a cancellation, no body stream closes before the task, not even one requested late")
  func cancelledBody() async throws {
    var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:1/")))
    let body = BodyInputStream(.segments([.data(Data.noise(100))]))
    request.httpBodyStream = body
    let taskResponse = TaskResponseStream(
      TransportRequest(request), idleTimeout: nil, limit: 1, overflow: .suspend,
      queue: DispatchQueue(label: "SystemTaskTests"))
    let task = RecordingTask()
    taskResponse.gate.start(task)
    let never = AsyncStream<Data> { _ in }
    taskResponse.pump(BodyInputStream(.sequence(SequenceBody(never, length: nil))), into: MemorySink { task.note("1") })
    taskResponse.cancel()
    taskResponse.pump(body, into: MemorySink { task.note("2") })
    while task.notes.count < 2 { await Task.yield() }
    task.note("completed")
    taskResponse.didComplete(URLError(.cancelled), response: nil)
    while task.notes.count < 5 { await Task.yield() }
    #expect(task.notes.prefix(3) == ["resumed", "cancelled", "completed"])
    #expect(task.notes.suffix(2).sorted() == ["1", "2"])
  }
}

@Suite("Task gate")
struct TaskGateTests {
  @Test("With concurrent suspends and resumes, the last decision holds")
  func lastDecisionHolds() async throws {
    let gate = TaskGate()
    let task = RecordingTask()
    gate.start(task)
    let wanted = Locked(false)
    // The first decision is made before the gate is asked, the second one in between.
    let (first, second) = (Gate(), Gate())
    async let slow: Void = {
      wanted.withLock { $0 = true }
      first.open()
      await second.wait()
      gate.follow { wanted.withLock { $0 } }
    }()
    await first.wait()
    wanted.withLock { $0 = false }
    gate.follow { wanted.withLock { $0 } }
    second.open()
    await slow
    #expect(task.notes == ["resumed"])
  }

  @Test("A suspension is resumed once, and a closed gate leaves its task alone")
  func balance() {
    let gate = TaskGate()
    let task = RecordingTask()
    gate.follow { true }
    gate.start(task)
    for wanted in [true, true, false, false, true] { gate.follow { wanted } }
    gate.close()
    gate.follow { false }
    #expect(task.notes == ["resumed", "suspended", "resumed", "suspended"])
  }
}

/// Records the calls it receives.
private final class RecordingTask: GatedTask {
  private let list = Locked<[String]>([])
  var notes: [String] { list.withLock { $0 } }
  func note(_ text: String) { list.withLock { $0.append(text) } }

  var takesAnswers: Bool { true }
  func resume() { note("resumed") }
  func suspend() { note("suspended") }
  func cancel() { note("cancelled") }
}

private final class MemorySink: BodySink {
  private let onClose: @Sendable () -> Void
  init(onClose: @escaping @Sendable () -> Void) { self.onClose = onClose }
  func open(on queue: DispatchQueue, onChange: @escaping @Sendable () -> Void) {}
  var hasSpace: Bool { true }
  func write(_ bytes: UnsafeRawBufferPointer) -> Int { bytes.count }
  func close() { onClose() }
}
