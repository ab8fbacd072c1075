import Testing

@testable import EKNetwork

/// Against a server that somebody else wrote, where one is running: `EKN_WSS_URL` echoes and has the subprotocol `v1`,
/// `EKN_WSS_CA` is the file of its authority.
@Suite(
  "WebSocket peers", .enabled(if: ProcessInfo.processInfo.environment["EKN_WSS_URL"] != nil), .timeLimit(.minutes(10)))
struct PeerTests {
  private var url: URL? { ProcessInfo.processInfo.environment["EKN_WSS_URL"].flatMap { URL(string: $0) } }
  private var authority: String? { ProcessInfo.processInfo.environment["EKN_WSS_CA"] }

  @Test("Large messages over TLS, compressed and not", arguments: [true, false])
  func largeMessages(isCompressed: Bool) async throws {
    var options = WebSocketOptions()
    options.authorityFile = authority
    if !isCompressed { options.compression = nil }
    let socket = try await WebSocket.connect(to: #require(url), protocols: ["v1"], options: options)
    #expect(socket.subprotocol == "v1")
    #expect(socket.isCompressed == isCompressed)
    let data = Data(repeating: 0x2A, count: 64 << 20)
    async let answer = socket.receive()
    try await socket.send(data)
    #expect(try await answer == .binary(data))
    try await socket.close()
    #expect(socket.closeCode == .normalClosure)
  }

  @Test("10,000 small messages each way at once")
  func manyMessages() async throws {
    var options = WebSocketOptions()
    options.authorityFile = authority
    let socket = try await WebSocket.connect(to: #require(url), protocols: ["v1"], options: options)
    async let sending: Void = { for index in 0..<10_000 { try await socket.send("\(index)") } }()
    for index in 0..<10_000 {
      let message = try await socket.receive()
      guard message == .text("\(index)") else {
        Issue.record("\(index) came as \(String(describing: message))")
        break
      }
    }
    try await sending
    try await socket.close()
  }

  @Test("A certificate of an authority that nobody knows is refused")
  func unknownAuthority() async throws {
    await #expect(throws: URLError.self) { try await WebSocket.connect(to: #require(url)) }
  }
}
