/// The error codes of RFC 9113 §7 that are sent, or acted on.
enum HTTP2ErrorCode: UInt32 {
  case protocolError = 1
  case refusedStream = 7
  case cancel = 8
  case enhanceYourCalm = 11
  case http11Required = 13

  private static let names = [
    "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
    "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
  ]

  static func name(of code: UInt32) -> String { code < names.count ? names[Int(code)] : "error \(code)" }
}

#if os(Linux)
  import CCurl

  /// The functions that nghttp2 calls.
  enum HTTP2Callbacks {
    private static func connection(_ context: UnsafeMutableRawPointer?) -> HTTP2Connection? {
      context.map { Unmanaged<HTTP2Connection>.fromOpaque($0).takeUnretainedValue() }
    }

    static let all = ekn_http2_callbacks(
      begin_frame: { _, _, context in
        connection(context)?.health.frame()
        return 0
      },
      field: { _, frame, name, nameLength, value, valueLength, _, context in
        let name = UnsafeRawBufferPointer(start: name, count: nameLength)
        let value = UnsafeRawBufferPointer(start: value, count: valueLength)
        let goesOn = connection(context)?.received(name, value, on: frame?.pointee.stream ?? 0)
        return goesOn == true ? 0 : Int32(EKN_HTTP2_FAILED)
      },
      frame: { _, frame, context in
        if let frame { connection(context)?.received(frame) }
        return 0
      },
      data: { _, _, number, bytes, count, context in
        connection(context)?.received(UnsafeRawBufferPointer(start: bytes, count: count), on: number)
        return 0
      },
      closed: { _, number, code, context in
        connection(context)?.closed(number, code: code)
        return 0
      },
      read: { _, number, buffer, count, flags, _, context in
        let space = UnsafeMutableRawBufferPointer(start: buffer, count: count)
        guard let flags, let own = connection(context) else { return Int(EKN_HTTP2_FAILED) }
        return own.read(into: space, &flags.pointee, for: number)
      })
  }

  /// What ``HTTP2Callbacks`` calls while nghttp2 is at work.
  extension HTTP2Connection {
    /// Acts on a stream, and notes whether it fails.
    private func with<Result>(_ number: Int32, _ body: (HTTP2Stream) -> Result) -> Result? {
      guard let stream = stream(number) else { return nil }
      stream.transfer.loopLastActivity = eventLoop.now
      let result = body(stream)
      if stream.failure != nil { failing.append(stream) }
      return result
    }

    func received(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, on number: Int32) -> Bool {
      with(number) { $0.field(name, value) } ?? true
    }

    func received(_ frame: UnsafePointer<ekn_http2_frame>) {
      let (type, flags, number) = (Int(frame.pointee.type), Int(frame.pointee.flags), frame.pointee.stream)
      switch type {
      case EKN_HTTP2_HEADERS:
        with(number) { $0.headEnded() }
        health.progressed()
      case EKN_HTTP2_PING where flags & EKN_HTTP2_ACK != 0: acknowledged()
      case EKN_HTTP2_GOAWAY: goesAway(code: frame.pointee.code)
      default: break
      }
      let mayEnd = type == EKN_HTTP2_HEADERS || type == EKN_HTTP2_DATA
      if mayEnd, flags & EKN_HTTP2_END_STREAM != 0 { responseEnded(on: number) }
    }

    func received(_ data: UnsafeRawBufferPointer, on number: Int32) {
      let isRead = stream(number) != nil
      if data.count > 0 { health.progressed(by: isRead ? data.count : 0) }
      guard isRead else {
        // Nobody reads it any more.
        if let session { ekn_http2_consume(session, number, data.count) }
        return
      }
      with(number) { $0.data(data) }
    }

    private func responseEnded(on number: Int32) {
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
        code: CurlError.streamReset, text: "HTTP/2 stream \(number) was reset: \(HTTP2ErrorCode.name(of: code))")
      // RFC 9113 §8.7: the request was not processed.
      let wasRefused = reason == .refusedStream || reason == .http11Required && !pool.requiresHTTP2
      lost(
        stream, failure,
        .init(
          code: wasRefused ? CurlError.framingLoss : failure.code, wasRefused: wasRefused,
          keepsConnection: reason == .refusedStream && accepts,
          hasReusedConnection: stream.isReused, isFinal: stream.hasResponse))
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, _ flags: inout UInt32, for number: Int32) -> Int {
      guard let count = with(number, { $0.read(into: buffer, &flags) }) else { return Int(EKN_HTTP2_FAILED) }
      if count > 0 { health.progressed() }
      return count
    }

    private func goesAway(code: UInt32) {
      if HTTP2ErrorCode(rawValue: code) == .http11Required { pool.avoidHTTP2(origin) }
      accepts = false
    }

    private func acknowledged() {
      health.acknowledged()
      let waiting = held
      held = []
      for stream in waiting { submit(stream) }
    }
  }
#endif
