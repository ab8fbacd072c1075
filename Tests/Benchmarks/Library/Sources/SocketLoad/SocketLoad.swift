@testable import EKNetwork

/// Runs one contender under one load, in its own process: `SocketLoad CONTENDER SCENARIO PORT WIDTH SECONDS [CA.pem]`.
///
/// CONTENDER is `eknetwork` or `transport`, which sends the same bytes over the library's byte transport, without
/// WebSocket. SCENARIO is `echo`, round trips of 32 bytes on WIDTH connections, or `receive-SIZE`, bytes received in
/// messages of SIZE bytes.
@main struct SocketLoad {
  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count >= 6, let port = Int(arguments[3]), let width = Int(arguments[4]),
      let seconds = Double(arguments[5])
    else {
      FileHandle.standardError.write(Data("SocketLoad CONTENDER SCENARIO PORT WIDTH SECONDS [CA.pem]\n".utf8))
      exit(64)
    }
    let peer = Peer(port: port, authorities: arguments.count > 6 ? arguments[6] : nil)
    let scenario = arguments[2].split(separator: "-")
    let size = scenario.count > 1 ? Int(scenario[1]) ?? 0 : 0
    var connections: [any Connection] = []
    for _ in 0..<width {
      connections.append(
        arguments[1] == "transport"
          ? try await TransportConnection(peer, receives: size) : try await SocketConnection(peer, receives: size))
    }
    _ = try await run(connections, receives: size > 0, seconds: seconds / 4)
    let start = Measurement.Start()
    try start.measured(await run(connections, receives: size > 0, seconds: seconds)).report()
  }

  private static func run(_ connections: [any Connection], receives: Bool, seconds: Double) async throws -> Int {
    let end = ContinuousClock.now + .seconds(seconds)
    return try await withThrowingTaskGroup(of: Int.self) { group in
      for connection in connections {
        group.addTask {
          var units = 0
          repeat { units += try await receives ? connection.receive() : connection.echo() } while .now < end
          return units
        }
      }
      return try await group.reduce(0, +)
    }
  }
}

struct Peer: Sendable {
  var port: Int
  var authorities: String?

  var tls: TLSOptions? { authorities.map { TLSOptions(certificateAuthorityFile: URL(fileURLWithPath: $0)) } }
}

protocol Connection: Sendable {
  /// Performs one round trip.
  func echo() async throws -> Int
  /// Receives more bytes and returns their number.
  func receive() async throws -> Int
}

let text = String(repeating: "t", count: 32)

struct SocketConnection: Connection {
  let socket: WebSocket

  init(_ peer: Peer, receives size: Int) async throws {
    var options = WebSocketOptions()
    options.compression = nil
    options.tls = peer.tls
    let scheme = peer.authorities == nil ? "ws" : "wss"
    guard let url = URL(string: "\(scheme)://127.0.0.1:\(peer.port)/\(size)") else { throw WebSocketError.invalidURL }
    socket = try await WebSocket.connect(to: url, options: options)
  }

  func echo() async throws -> Int {
    try await socket.send(text)
    guard try await socket.receive() == .text(text) else { throw WebSocketError.invalidControlFrame }
    return 1
  }

  func receive() async throws -> Int {
    guard case .binary(let data)? = try await socket.receive() else { throw WebSocketError.invalidControlFrame }
    return data.count
  }
}

struct TransportConnection: Connection {
  let transport: any ByteTransport

  init(_ peer: Peer, receives size: Int) async throws {
    transport = try ByteTransports.make(
      ByteTransportEndpoint(
        host: "127.0.0.1", port: peer.port, isSecure: peer.authorities != nil, tls: peer.tls))
    try await transport.open()
    try await send(Array("BARE /\(size)\r\n\r\n".utf8))
  }

  private func send(_ bytes: [UInt8]) async throws {
    let sent = SingleResult()
    transport.send(bytes, isLast: false) { sent.finish($0) }
    try await sent.value()
  }

  func echo() async throws -> Int {
    try await send(Array(text.utf8))
    var count = 0
    while count < text.utf8.count {
      let bytes = try await transport.receive()
      guard !bytes.isEmpty else { throw WebSocketError.invalidControlFrame }
      count += bytes.count
    }
    return 1
  }

  func receive() async throws -> Int {
    let bytes = try await transport.receive()
    guard !bytes.isEmpty else { throw WebSocketError.invalidControlFrame }
    return bytes.count
  }
}
