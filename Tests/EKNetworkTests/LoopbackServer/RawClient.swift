import Dispatch
import Foundation

/// A blocking TCP client that sends and receives exact bytes. It gives up after 30 seconds of silence.
final class RawClient {
  struct Failure: Error {
    let call: String
    let code: Int32
  }

  /// A response as it was received.
  struct Answer {
    var head: String
    var body: Data
    var status: Int { Int(head.dropFirst(9).prefix(3)) ?? 0 }
    var text: String { String(decoding: body, as: UTF8.self) }

    func header(_ name: String) -> String? {
      let prefix = name.lowercased() + ": "
      for line in head.components(separatedBy: "\r\n").dropFirst() where line.lowercased().hasPrefix(prefix) {
        return String(line.dropFirst(name.count + 2))
      }
      return nil
    }
  }

  private let descriptor: Int32
  private var isOpen = true
  private var buffer = Data()

  /// Connects to a port of 127.0.0.1. A small receive buffer shows back-pressure early; the patience in microseconds
  /// is for each write and, on Linux, for connecting.
  init(port: Int, receiveBufferSize: Int32? = nil, patience: Int = 30_000_000) throws {
    #if canImport(Darwin)
      let stream = SOCK_STREAM
    #else
      let stream = Int32(SOCK_STREAM.rawValue)
    #endif
    descriptor = socket(AF_INET, stream, 0)
    guard descriptor >= 0 else { throw Failure(call: "socket", code: errno) }
    var timeout = timeval(tv_sec: 30, tv_usec: 0)
    var sendTimeout = timeval(tv_sec: patience / 1_000_000, tv_usec: .init(patience % 1_000_000))
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &sendTimeout, socklen_t(MemoryLayout<timeval>.size))
    #if canImport(Darwin)
      var one: Int32 = 1
      setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &one, socklen_t(MemoryLayout<Int32>.size))
    #endif
    if var receiveBufferSize {
      setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBufferSize, socklen_t(MemoryLayout<Int32>.size))
    }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else {
      let code = errno
      disconnect()
      throw Failure(call: "connect", code: code)
    }
  }

  deinit { disconnect() }

  func disconnect() {
    if isOpen { close(descriptor) }
    isOpen = false
  }

  /// Ends both sides, also for a thread that is just reading or writing.
  func hangUp() { shutdown(descriptor, Int32(SHUT_RDWR)) }

  /// Whether the peer has ended its side and everything was read. Does not wait.
  var isAtEnd: Bool {
    var byte: UInt8 = 0
    return buffer.isEmpty && recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) == 0
  }

  /// Whether a write would not wait.
  var isWritable: Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    return poll(&entry, 1, 0) > 0
  }

  /// Fires again and again while a write would not wait.
  func writeSource(_ queue: DispatchQueue) -> any DispatchSourceWrite {
    DispatchSource.makeWriteSource(fileDescriptor: descriptor, queue: queue)
  }

  /// Ends the client's side.
  func endSending() { shutdown(descriptor, Int32(SHUT_WR)) }

  func write(_ text: String) throws { try write(Data(text.utf8)) }

  func write(_ data: Data) throws {
    var rest = data
    while !rest.isEmpty {
      let count = try writeSome(rest, flags: 0)
      rest = rest.dropFirst(count)
    }
  }

  /// Writes what the socket accepts now, and returns 0 when it accepts nothing.
  func writeWithoutBlocking(_ data: Data) throws -> Int {
    do {
      return try writeSome(data, flags: Int32(MSG_DONTWAIT))
    } catch let failure as Failure where failure.code == EAGAIN {
      return 0
    }
  }

  private func writeSome(_ data: Data, flags: Int32) throws -> Int {
    #if canImport(Darwin)
      let noSignal: Int32 = 0
    #else
      let noSignal = Int32(MSG_NOSIGNAL)
    #endif
    let count = data.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, flags | noSignal) }
    guard count > 0 else { throw Failure(call: "send", code: errno) }
    return count
  }

  /// The next bytes; empty at the end of the connection.
  func read(upTo limit: Int = 64 << 10) throws -> Data {
    if !buffer.isEmpty {
      defer { buffer = Data(buffer.dropFirst(limit)) }
      return Data(buffer.prefix(limit))
    }
    var bytes = [UInt8](repeating: 0, count: limit)
    let count = recv(descriptor, &bytes, limit, 0)
    guard count >= 0 else { throw Failure(call: "recv", code: errno) }
    return Data(bytes[..<count])
  }

  /// Everything up to the end of the connection.
  func readToEnd() throws -> String {
    var all = Data()
    while true {
      let piece = try read()
      if piece.isEmpty { return String(decoding: all, as: UTF8.self) }
      all.append(piece)
    }
  }

  /// That many bytes, or fewer at the end of the connection.
  func read(exactly count: Int) throws -> Data {
    var all = Data()
    while all.count < count {
      let piece = try read(upTo: count - all.count)
      if piece.isEmpty { break }
      all.append(piece)
    }
    return all
  }

  /// One response, with a body of its Content-Length unless `hasBody` is false, as for HEAD.
  func readAnswer(hasBody: Bool = true) throws -> Answer {
    var head = Data()
    while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
      let piece = try read()
      guard !piece.isEmpty else { throw Failure(call: "end of connection", code: 0) }
      let all = head + piece
      let end = all.range(of: Data("\r\n\r\n".utf8))?.upperBound ?? all.endIndex
      head = all[..<end]
      buffer = Data(all[end...]) + buffer
    }
    var response = Answer(head: String(decoding: head.dropLast(4), as: UTF8.self), body: Data())
    if hasBody, let length = response.header("Content-Length").flatMap({ Int($0) }) {
      response.body = try read(exactly: length)
    }
    return response
  }

  func get(_ target: String) throws -> Answer {
    try write("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n")
    return try readAnswer()
  }
}
