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
      goaway: { context, _, code in connection(context)?.goesAway(code: code) },
      pong: { connection($0)?.answered() })
  }
#endif
