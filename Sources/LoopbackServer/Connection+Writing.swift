import Foundation

extension Connection {
  typealias Response = LoopbackServer.Response

  /// Sends a response. `request` is `nil` if no valid request was received.
  func write(_ response: Response, to request: LoopbackServer.Request?) throws {
    for (status, headers) in response.interim {
      try send(Self.head(status: status, reason: nil, headers: headers))
    }
    if case .raw(let steps) = response.body { return try perform(steps) }
    var head = Self.head(status: response.status, reason: response.reason, headers: fields(of: response, request))
    // RFC 9110, sections 9.3.2 and 15.3.5: these never have a body, whatever their header fields.
    if request?.method == "HEAD" || Self.isBodiless(response.status), !response.isUpgrade { return try send(head) }
    switch response.body {
    case .empty, .raw:
      try send(head)
    case .data(let data), .untilClose(let data):
      guard data.count > 256 << 10 else {
        head.append(contentsOf: data)
        return try send(head)
      }
      try send(head, more: true)
      try send(data)
    case .chunks(let parts, let trailers):
      for part in parts where !part.isEmpty {
        head.append(contentsOf: Self.chunk(part))
        guard head.count > 256 << 10 else { continue }
        try send(head)
        head.removeAll(keepingCapacity: true)
      }
      try send(head + Self.lastChunk(trailers))
    case .steps(let steps):
      try send(head)
      try perform(steps)
    case .upgrade(let takeOver):
      try send(head)
      takeOver(LoopbackServer.ByteStream(connection: self))
    }
  }

  private func fields(of response: Response, _ request: LoopbackServer.Request?) -> HeaderFields {
    var fields = response.headers
    let hasFraming = fields["Content-Length"] != nil || fields["Transfer-Encoding"] != nil
    if !hasFraming, !Self.isBodiless(response.status) {
      switch response.body {
      case .empty: fields.append("Content-Length", "0")
      case .data(let data): fields.append("Content-Length", String(data.count))
      case .chunks: fields.append("Transfer-Encoding", "chunked")
      case .untilClose, .steps, .raw, .upgrade: break
      }
    }
    let closes: Bool
    switch response.ending {
    case .close: closes = true
    case .keepAlive: closes = request.map(Self.mustClose(after:)) ?? true
    case .closeSilently, .reset, .closeOnNextRequest: closes = false
    }
    if closes, !response.isUpgrade, fields["Connection"] == nil { fields.append("Connection", "close") }
    return fields
  }

  private static func isBodiless(_ status: Int) -> Bool {
    100...199 ~= status || status == 204 || status == 304
  }

  private static func head(status: Int, reason: String?, headers: HeaderFields) -> [UInt8] {
    var text = "HTTP/1.1 \(status) \(reason ?? reasonPhrase(status))\r\n"
    for field in headers { text += "\(field.name): \(field.value)\r\n" }
    text += "\r\n"
    return Array(text.utf8)
  }

  private static func chunk(_ data: Data) -> [UInt8] {
    var bytes = Array("\(String(data.count, radix: 16))\r\n".utf8)
    bytes.append(contentsOf: data)
    bytes.append(contentsOf: [.carriageReturn, .lineFeed])
    return bytes
  }

  private static func lastChunk(_ trailers: HeaderFields) -> [UInt8] {
    Array(("0\r\n" + trailers.map { "\($0.name): \($0.value)\r\n" }.joined() + "\r\n").utf8)
  }

  func beginChunks(status: Int, _ fields: HeaderFields) throws {
    var fields = fields
    fields.append("Transfer-Encoding", "chunked")
    try send(Self.head(status: status, reason: nil, headers: fields))
  }

  func sendChunk(_ data: Data) throws { try send(Self.chunk(data)) }

  func endChunks(_ trailers: HeaderFields) throws { try send(Self.lastChunk(trailers)) }

  // MARK: Steps

  private func perform(_ steps: [Response.Step]) throws {
    for step in steps { try perform(step) }
  }

  private func perform(_ step: Response.Step) throws {
    switch step {
    case .send(let data):
      try send(data)
    case .sendString(let text):
      try send(Array(text.utf8))
    case .chunk(let data):
      try send(Self.chunk(data))
    case .endOfChunks(let trailers):
      try send(Self.lastChunk(trailers))
    case .wait(let gate):
      guard socket.wait(for: gate, timeout: nil) == .signalled else { throw Ended() }
    case .open(let gate):
      gate.open()
    case .stall:
      _ = socket.wait(timeout: nil)
      throw Ended()
    case .delay(let duration):
      try wait(duration)
    case .trickle(let data, let size, let pause):
      var rest = data[...]
      while !rest.isEmpty {
        try send(rest.prefix(max(1, size)))
        rest = rest.dropFirst(max(1, size))
        try wait(pause)
      }
    case .flood(let bytes, let byte, let counter):
      defer { counter?.finish() }
      try flood(bytes, of: byte, counter: counter)
    case .halfClose:
      socket.shutDownSending()
    case .close:
      closeGracefully()
      throw Ended()
    case .reset:
      socket.reset()
      throw Ended()
    }
  }

  private func flood(_ bytes: Int, of byte: UInt8, counter: ByteCounter?) throws {
    let block = [UInt8](repeating: byte, count: 64 << 10)
    var left = bytes
    while left > 0 {
      let count = block.withUnsafeBytes {
        socket.sendWithoutBlocking(UnsafeRawBufferPointer(rebasing: $0[..<min(left, $0.count)]))
      }
      if count < 0 { throw Ended() }
      if count > 0 {
        left -= count
        counter?.add(count)
        core.bytesSent.add(count)
      } else if !socket.waitUntilWritable(timeout: .milliseconds(200)) {
        counter?.markBlocked()
        _ = socket.waitUntilWritable(timeout: nil)
      }
    }
  }

  // MARK: Bytes

  func send(_ bytes: [UInt8], more: Bool = false) throws {
    try bytes.withUnsafeBytes { try send($0, more: more) }
  }

  func send(_ data: Data) throws {
    try data.withUnsafeBytes { try send($0, more: false) }
  }

  private func send(_ bytes: UnsafeRawBufferPointer, more: Bool) throws {
    guard socket.send(bytes, more: more) else { throw Ended() }
    core.bytesSent.add(bytes.count)
  }
}

extension LoopbackServer.Response {
  fileprivate var isUpgrade: Bool {
    if case .upgrade = body { return true }
    return false
  }
}
