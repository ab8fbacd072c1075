import LoopbackServer
import Testing

@testable import EKNetwork

@Suite("The socket page: sending lines", .timeLimit(.minutes(10)))
struct SocketLinesTests {
  @Test("A line whose task is cancelled while an earlier one is being sent is never sent")
  func cancelledLines() async throws {
    let server = try LoopbackServer()
    defer { server.stop() }
    let (isStarted, mayRead, isDone) = (Gate(), Gate(), Gate())
    let end = Locked(Data())
    server.route("/") { _ in
      .upgrade { stream in
        guard stream.read(upTo: 1) != nil else { return }
        isStarted.open()
        guard stream.wait(for: mayRead) else { return }
        while let data = stream.read() {
          let isLast = end.withLock { end in
            end = Data((end + data).suffix(100))
            return end.suffix(5) == Data("last\n".utf8)
          }
          if isLast { return isDone.open() }
        }
      }
    }
    let socket = PrismNetworkSocketAdapter()
    let stream = try await socket.connect(to: SocketEndpoint(number: UInt16(server.port), isWebSocket: false))
    try await socket.send(command: SocketCommand("GET / HTTP/1.1\r\nHost: a\r\n\r\n"))
    // More than the system's buffers hold.
    let long = Task { try await socket.send(command: SocketCommand(String(repeating: "a", count: 24 << 20))) }
    #expect(await isStarted.wait())
    let session = try #require(await socket.session)
    for _ in 0..<3 {
      let cancelled = Task { try await socket.send(command: SocketCommand("cancelled")) }
      while session.turns.withLock({ $0.queue.count }) == 0 { await Task.yield() }
      cancelled.cancel()
      await #expect(throws: CancellationError.self) { try await cancelled.value }
    }
    let last = Task { try await socket.send(command: SocketCommand("last")) }
    mayRead.open()
    try await long.value
    try await last.value
    #expect(await isDone.wait())
    #expect(end.withLock { String(decoding: $0, as: UTF8.self) }.hasSuffix("aaa\nlast\n"))
    withExtendedLifetime(stream) {}
  }
}
