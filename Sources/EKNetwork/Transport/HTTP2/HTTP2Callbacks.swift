/// The error codes of RFC 9113 §7.
enum HTTP2ErrorCode: UInt32, CaseIterable {
  case noError = 0
  case protocolError
  case internalError
  case flowControlError
  case settingsTimeout
  case streamClosed
  case frameSizeError
  case refusedStream
  case cancel
  case compressionError
  case connectError
  case enhanceYourCalm
  case inadequateSecurity
  case http11Required

  /// Returns the name in the RFC, such as `PROTOCOL_ERROR`.
  static func name(of code: UInt32) -> String {
    switch HTTP2ErrorCode(rawValue: code) {
    case .http11Required: "HTTP_1_1_REQUIRED"
    case let known?:
      "\(known)".reduce(into: "") { $0 += $1.isUppercase ? "_\($1)" : $1.uppercased() }
    case nil: "error \(code)"
    }
  }
}

#if os(Linux)
  import CCurl

  /// The functions that nghttp2 calls.
  enum HTTP2Callbacks {
    private static func connection(_ context: UnsafeMutableRawPointer?) -> HTTP2Connection? {
      context.map { Unmanaged<HTTP2Connection>.fromOpaque($0).takeUnretainedValue() }
    }

    static let all = ekn_http2_callbacks(
      frame: { connection($0)?.frameBegan() },
      field: { connection($0)?.received(field: $2, on: $1) ?? false },
      head: { connection($0)?.headEnded(on: $1) },
      data: { connection($0)?.received(UnsafeRawBufferPointer(start: $2, count: $3), on: $1) },
      ended: { connection($0)?.responseEnded(on: $1) },
      closed: { connection($0)?.closed($1, code: $2) },
      read: { context, number, buffer, count, isEnd in
        var isLast = false
        let read = connection(context)?.read(
          into: UnsafeMutableRawBufferPointer(start: buffer, count: count), isEnd: &isLast, for: number)
        isEnd?.pointee = isLast
        return read ?? Int(EKN_HTTP2_FAILED)
      },
      goaway: { connection($0)?.goesAway(code: $1) },
      pong: { connection($0)?.acknowledged() })
  }

  /// What ``HTTP2Callbacks`` calls while nghttp2 is at work.
  extension HTTP2Connection {
    func frameBegan() { health.frame() }

    /// Acts on a stream, and notes whether it fails.
    private func with<Result>(_ number: Int32, _ body: (HTTP2Stream) -> Result) -> Result? {
      guard let stream = stream(number) else { return nil }
      stream.transfer.loopLastActivity = eventLoop.now
      let result = body(stream)
      if stream.failure != nil { failing.append(stream) }
      return result
    }

    func received(field: ekn_http2_field, on number: Int32) -> Bool {
      with(number) {
        $0.field(
          UnsafeRawBufferPointer(start: field.name, count: field.name_length),
          UnsafeRawBufferPointer(start: field.value, count: field.value_length))
      } ?? true
    }

    func headEnded(on number: Int32) {
      with(number) { $0.headEnded() }
      health.progressed()
    }

    func received(_ data: UnsafeRawBufferPointer, on number: Int32) {
      if data.count > 0 { health.progressed() }
      guard stream(number) != nil else {
        // Nobody reads it any more.
        if let session { ekn_http2_consume(session, number, data.count) }
        return
      }
      with(number) { $0.data(data) }
    }

    func responseEnded(on number: Int32) {
      guard let stream = stream(number), stream.failure == nil else { return }
      // RFC 9113 §8.1: the rest of the request is not needed.
      let isComplete = stream.state.output == .complete
      stream.state.ended()
      if !isComplete { reset(stream) }
      finish(stream, with: nil)
    }

    func closed(_ number: Int32, code: UInt32) {
      guard let stream = stream(number) else { return }
      if let failure = stream.failure { return finish(stream, with: failure) }
      let reason = HTTP2ErrorCode(rawValue: code)
      if reason == .http11Required { pool.avoidHTTP2(origin) }
      let failure = CurlError.Failure(
        code: 92, text: "HTTP/2 stream \(number) was reset: \(HTTP2ErrorCode.name(of: code))")
      // RFC 9113 §8.7: the request was not processed.
      let wasRefused = reason == .refusedStream || reason == .http11Required && !pool.requiresHTTP2
      lost(
        stream, failure,
        .init(
          code: wasRefused ? CurlError.framingLoss : failure.code, wasRefused: wasRefused,
          keepsConnection: reason == .refusedStream && accepts,
          hasReusedConnection: stream.isReused, isFinal: stream.hasResponse))
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, isEnd: inout Bool, for number: Int32) -> Int {
      guard let count = with(number, { $0.read(into: buffer, isEnd: &isEnd) }) else { return Int(EKN_HTTP2_FAILED) }
      if count > 0 { health.progressed() }
      return count
    }

    func goesAway(code: UInt32) {
      if HTTP2ErrorCode(rawValue: code) == .http11Required { pool.avoidHTTP2(origin) }
      accepts = false
    }

    func acknowledged() {
      health.acknowledged()
      let waiting = held
      held = []
      for stream in waiting { submit(stream) }
    }
  }
#endif
