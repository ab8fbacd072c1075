import Foundation

/// A connection of the server. It is used only on the thread that serves it.
final class Connection {
  /// The error thrown when the connection ends, at any depth.
  struct Ended: Error {}

  let socket: Socket
  let core: ServerCore
  private let number: Int
  private var parser: RequestParser
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
  private var served = 0
  private var closesOnNextRequest = false

  init(socket: Socket, number: Int, core: ServerCore) {
    self.socket = socket
    self.number = number
    self.core = core
    parser = RequestParser(
      maximumHeadSize: core.options.maximumHeadSize, maximumBodySize: core.options.maximumBodySize)
  }

  deinit { buffer.deallocate() }

  /// Responds to requests until either side closes the connection.
  func serve() {
    do {
      while try serveOne() {}
    } catch let failure as RequestParser.Failure {
      let refusal = LoopbackServer.Response.text(failure.reason + "\n", status: failure.status).then(.close)
      if (try? write(refusal, to: nil)) != nil { closeGracefully() }
    } catch {
      // The connection has ended; the error cannot be reported to anyone.
    }
  }

  /// Responds to one request. Returns whether the connection stays open.
  private func serveOne() throws -> Bool {
    guard case .head(let head) = try nextEvent() else { return false }
    var request = LoopbackServer.Request(head: head, connection: number, index: served)
    served += 1
    if closesOnNextRequest {
      record(request)
      return false
    }
    let route = core.router.withLock { $0.route(for: request) }
    var body = BodyReader()
    let response: LoopbackServer.Response
    var isRead = true
    switch route.onHead?(request) ?? .readBody {
    case .respond(let early):
      record(request)
      response = early
      isRead = false
    case .steps(let steps):
      try readBody(of: &request, into: &body, steps: steps, sendsContinue: false)
      response = makeResponse(to: request, from: route)
    case .converse(let status, let fields, let reply):
      try converse(with: &request, status, fields, reply)
      return try finish(.status(status), request: request, isRead: true)
    case .readBody:
      try readBody(of: &request, into: &body, steps: [], sendsContinue: core.options.answersExpectContinue)
      response = makeResponse(to: request, from: route)
    }
    try write(response, to: request)
    return try finish(response, request: request, isRead: isRead)
  }

  private func makeResponse(to request: LoopbackServer.Request, from route: Router.Route) -> LoopbackServer.Response {
    record(request)
    do {
      return try route.handler(request)
    } catch {
      return .text("The handler failed: \(error)\n", status: 500)
    }
  }

  private func record(_ request: LoopbackServer.Request) {
    core.records.withLock { $0.add(request) }
  }

  // MARK: Reading

  private func readBody(
    of request: inout LoopbackServer.Request, into body: inout BodyReader, steps: [LoopbackServer.BodyStep],
    sendsContinue: Bool
  ) throws {
    do {
      if sendsContinue, request.headers.contains(token: "100-continue", in: "Expect"), parser.bufferedCount == 0 {
        try sendContinue()
      }
      for step in steps { try perform(step, on: &body) }
      while !body.isComplete { body.take(try nextEvent()) }
    } catch {
      body.move(to: &request)
      record(request)
      throw error
    }
    body.move(to: &request)
  }

  private func converse(
    with request: inout LoopbackServer.Request, _ status: Int, _ fields: HeaderFields, _ reply: (Data) -> Data?
  ) throws {
    var body = BodyReader()
    defer {
      body.move(to: &request)
      record(request)
    }
    try beginChunks(status: status, fields)
    while !body.isComplete {
      let event = try nextEvent()
      body.take(event)
      // A part of the framing has no content, and a chunk without any would end the response.
      if case .body(let content, _) = event, !content.isEmpty, let chunk = reply(Data(content)) { try sendChunk(chunk) }
      if case .end(let trailers) = event { try endChunks(trailers) }
    }
  }

  private func perform(_ step: LoopbackServer.BodyStep, on body: inout BodyReader) throws {
    switch step {
    case .sendContinue:
      try sendContinue()
    case .read(let total):
      while !body.isComplete, body.rawCount < total {
        body.take(try nextEvent(receivingAtMost: total - body.rawCount))
      }
    case .trickle(let chunk, let pause):
      while !body.isComplete {
        body.take(try nextEvent(receivingAtMost: max(1, chunk)))
        if parser.bufferedCount == 0, !body.isComplete { try wait(pause) }
      }
    case .wait(let gate):
      guard socket.wait(for: gate, timeout: nil) == .signalled else { throw Ended() }
    case .open(let gate):
      gate.open()
    case .delay(let duration):
      try wait(duration)
    case .stall:
      _ = socket.wait(timeout: nil)
      throw Ended()
    case .discard:
      body.keepsBytes = false
    case .close:
      throw Ended()
    case .reset:
      socket.reset()
      throw Ended()
    }
  }

  private func sendContinue() throws {
    try send(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
  }

  /// Waits for a duration; throws if the client disconnects or the server stops meanwhile.
  func wait(_ duration: Duration) throws {
    guard socket.wait(timeout: duration) == .timedOut else { throw Ended() }
  }

  /// Returns the next event, receiving more bytes if needed.
  private func nextEvent(receivingAtMost limit: Int = .max) throws -> RequestParser.Event {
    while true {
      if let event = try parser.next() { return event }
      parser.append(UnsafeRawBufferPointer(rebasing: buffer[..<(try receive(atMost: limit))]))
    }
  }

  private func receive(atMost limit: Int = .max) throws -> Int {
    let count = socket.receive(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(limit, buffer.count)]))
    guard count > 0 else { throw Ended() }
    return count
  }

  /// Returns bytes of an upgraded connection, first those that arrived with the head.
  func readRaw(upTo limit: Int) -> Data? {
    if let buffered = parser.takeRest(upTo: limit) { return Data(buffered) }
    guard let count = try? receive(atMost: max(1, limit)) else { return nil }
    return Data(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
  }

  // MARK: Ending

  /// Ends the exchange as the response specifies. Returns whether the connection stays open.
  private func finish(
    _ response: LoopbackServer.Response, request: LoopbackServer.Request, isRead: Bool
  ) throws -> Bool {
    switch response.ending {
    case .reset:
      socket.reset()
      return false
    case .keepAlive, .closeOnNextRequest:
      if case .upgrade = response.body { return false }
      if Self.mustClose(after: request) { break }
      if core.options.requestsPerConnection.map({ served >= $0 }) == true { break }
      closesOnNextRequest = response.isClosingOnNextRequest
      if isRead { return true }
      while true { if case .end = try nextEvent() { return true } }
    case .close, .closeSilently:
      break
    }
    closeGracefully()
    return false
  }

  /// Returns whether the connection must be closed after the response (RFC 9112, section 9.3).
  static func mustClose(after request: LoopbackServer.Request) -> Bool {
    request.headers.contains(token: "close", in: "Connection")
      || request.version == "HTTP/1.0" && !request.headers.contains(token: "keep-alive", in: "Connection")
  }

  /// Closes the connection so that the client still receives what was sent: with unread bytes in the socket the system
  /// would send a reset, which overtakes the response (RFC 9112, section 9.6). So they are read, for at most two
  /// seconds.
  func closeGracefully() {
    socket.shutDownSending()
    let deadline = ContinuousClock.now + .seconds(2)
    while socket.hasUnreadBytes || parser.isMidRequest, ContinuousClock.now < deadline {
      guard socket.waitUntilReadable(timeout: .milliseconds(200)), (try? receive()) != nil else { break }
    }
    socket.close()
  }
}

extension LoopbackServer.Response {
  var isClosingOnNextRequest: Bool {
    if case .closeOnNextRequest = ending { return true }
    return false
  }
}
