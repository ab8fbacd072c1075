/// How much of a stream its server may send before its consumer has read (RFC 9113 §5.2): little at first, and more for a
/// consumer that reads it all, so that a long way does not make a download slow.
struct ReceiveWindow {
  /// What an unread stream may hold, beside as much that waits for its consumer.
  static let initial = 128 * 1024
  static let maximum = 4 * 1024 * 1024
  /// What all streams of a connection together may hold.
  static let connection = 16 * 1024 * 1024

  private(set) var size = initial
  /// The bytes that were received and not yet read.
  private(set) var unread = 0
  /// The bytes that were read since the window has grown.
  private var read = 0

  mutating func received(_ count: Int) { unread += count }

  /// Takes what the consumer has read, which the server may send again.
  ///
  /// - Parameter spare: How much it may grow.
  /// - Returns: The number of bytes, and by how much the window has grown.
  mutating func consume(spare: Int) -> (count: Int, growth: Int) {
    let count = unread
    unread = 0
    read += count
    let growth = min(size, Self.maximum - size)
    guard read >= size, growth <= spare else { return (count, 0) }
    read = 0
    size += growth
    return (count, growth)
  }
}

#if os(Linux)
  import CCurl
  import Foundation

  /// One exchange on a connection of HTTP/2 (RFC 9113 §5.1). It belongs to the thread that holds the loop's turn.
  final class HTTP2Stream: LoopExchange {
    /// 0 before the request is sent.
    var number: Int32 = 0
    let transfer: Transfer
    unowned let connection: HTTP2Connection
    var state: ExchangeState
    private(set) var window = ReceiveWindow()
    /// Whether the connection has served another request before.
    let isReused: Bool
    /// Why the exchange fails, found while nghttp2 is at work.
    private(set) var failure: (any Error)?
    private var head: [UInt8] = []
    private var headSize = 0
    private(set) var hasHead = false
    /// The trailer section, under a status line of its own; `nil` if there is none.
    private(set) var trailers: RawHead?
    private var firstByte: UInt64?

    init(_ transfer: Transfer, on connection: HTTP2Connection, isReused: Bool) {
      self.transfer = transfer
      self.connection = connection
      self.isReused = isReused
      state = ExchangeState(transfer.request)
    }

    var carrier: LoopConnection { connection }

    private var url: URL { transfer.request.url }

    /// Whether part of a final response was received.
    var hasResponse: Bool { hasHead || !head.isEmpty }

    private func fail(_ code: URLError.Code, _ text: String) {
      if failure == nil { failure = URLError(code, url: url, description: text) }
    }

    private func fail(_ failure: ResponseHeadRules.Failure) { fail(failure.code, failure.text) }

    // MARK: - Receiving

    /// Takes a field of a head or of trailers, and returns whether the stream may go on.
    func field(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool {
      if firstByte == nil { firstByte = connection.responds(since: transfer.loopBegun) }
      // All heads and the trailers count, and an empty field, too.
      headSize += name.count + value.count + 32
      let line = name.count + value.count
      if line > ResponseHeadRules.maximumLine { fail(ResponseHeadRules.lineIsTooLong) }
      if headSize > ResponseHeadRules.maximumSize {
        fail(hasHead ? ResponseHeadRules.trailersAreTooLong : ResponseHeadRules.headIsTooLong)
      }
      guard failure == nil else { return false }
      if hasHead, head.isEmpty { head += "HTTP/2 200 \r\n".utf8 }
      if name.elementsEqual(":status".utf8) {
        head += "HTTP/2 ".utf8
        head += value
        head += " \r\n".utf8
      } else {
        head += name
        head += ": ".utf8
        head += value
        head += "\r\n".utf8
      }
      return true
    }

    func headEnded() {
      guard failure == nil, !hasHead || !head.isEmpty else { return }
      head += "\r\n".utf8
      let bytes = head
      head = []
      guard let head = RawHead(bytes: bytes, url: url) else { return fail(ResponseHeadRules.malformedStatusLine) }
      guard !hasHead else { return trailers = head }
      if let failure = ResponseHeadRules.failure(of: head, method: transfer.request.method) { return fail(failure) }
      guard head.statusCode >= 200 else {
        transfer.request.onInterim?.received(head)
        if state.interim(status: head.statusCode) { connection.sendMore(self) }
        return
      }
      hasHead = true
      headSize = 0
      // RFC 9110 §15.5.20: the server does not want such requests over this connection.
      if head.statusCode == 421 { connection.pool.avoidHTTP2(transfer.request.origin) }
      transfer.loopReceivedHead(head)
      state.responded(status: head.statusCode, closes: false)
      connection.eventLoop.markDirty(transfer)
    }

    func data(_ bytes: UnsafeRawBufferPointer) {
      window.received(bytes.count)
      connection.eventLoop.markDirty(transfer)
      if transfer.loopReceivedBody(bytes) { connection.eventLoop.deliver(transfer) }
    }

    // MARK: - Sending

    /// Reads the next piece of the body. Returns the number of bytes, or `EKN_HTTP2_…`.
    func read(into buffer: UnsafeMutableRawBufferPointer, _ flags: inout UInt32) -> Int {
      guard state.output == .body, let upload = transfer.request.upload,
        !transfer.loopPauses.contains(.sending)
      else { return Int(EKN_HTTP2_PENDING) }
      let rest = upload.length.map { $0 - transfer.loopBodyCount } ?? .max
      let space = UnsafeMutableRawBufferPointer(rebasing: buffer[..<Int(min(rest, Int64(buffer.count)))])
      transfer.loopLastActivity = connection.eventLoop.now
      switch upload.read(into: space) {
      case .bytes(let count):
        transfer.loopReadBody(count)
        if transfer.loopBodyCount == upload.length {
          state.wroteBody()
          flags |= UInt32(EKN_HTTP2_IS_END)
        }
        return count
      case .end:
        guard upload.length == nil else {
          fail(.requestBodyStreamExhausted, "The body is shorter than its length")
          return Int(EKN_HTTP2_FAILED)
        }
        state.wroteBody()
        flags |= UInt32(EKN_HTTP2_IS_END)
        let trailers = upload.trailers
        guard !trailers.isEmpty else { return 0 }
        let isFollowed = HTTP2RequestHead(trailers: trailers).withFields {
          ekn_http2_trailers(connection.session, number, $0.baseAddress, $0.count)
        }
        guard isFollowed else {
          failure = CurlError.urlError(.noResources, url: url)
          return Int(EKN_HTTP2_FAILED)
        }
        flags |= UInt32(EKN_HTTP2_HAS_TRAILERS)
        return 0
      case .pending:
        transfer.loopPauses.insert(.sending)
        return Int(EKN_HTTP2_PENDING)
      case .failed(let error):
        failure = error
        return Int(EKN_HTTP2_FAILED)
      }
    }

    // MARK: - Exchange

    func resumed() {
      if !transfer.loopPauses.contains(.receiving) { delivered() }
      if !transfer.loopPauses.contains(.sending) { connection.sendMore(self) }
    }

    func paused() {}

    func delivered() {
      guard window.unread > 0 else { return }
      let (count, growth) = window.consume(spare: connection.spareWindow)
      connection.consumed(count, of: self, growth: growth)
    }

    func abandon(_ transfer: Transfer) { connection.abandon(self) }

    func timings(of transfer: Transfer) -> NetworkTimings {
      connection.timings(
        since: transfer.loopBegun, isReused: isReused, firstByte: firstByte, version: hasHead ? "HTTP/2" : nil)
    }
  }
#endif
