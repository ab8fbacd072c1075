#if os(Linux)
  import CCurl
  import Foundation
  import FoundationNetworking

  /// The callbacks that libcurl makes in a turn of the event loop, from within a call to it.
  extension CurlHandle {
    fileprivate func received(_ bytes: UnsafeRawBufferPointer) -> Int {
      guard let transfer else { return 0 }
      transfer.loopLastActivity = eventLoop.now
      // libcurl takes anything after an interim response that is not HTTP for a body. No body is accepted before its
      // head.
      guard transfer.loopParser.isComplete else {
        transfer.loopFailure = CurlError.make(
          .badServerResponse, "The server sent a body before a final response head", url: transfer.request.url)
        return 0
      }
      eventLoop.markDirty(transfer)
      if transfer.loopReceivedBody(bytes) { eventLoop.deliver(transfer) }
      if transfer.loopEndsSecureBody, hasTLSInput {
        // RFC 9112 §6.3: what follows belongs to no response. This makes libcurl close the connection.
        transfer.loopHasSurplus = true
        return 0
      }
      return bytes.count
    }

    fileprivate func receivedLine(_ bytes: UnsafeRawBufferPointer) -> Int {
      guard let transfer else { return 0 }
      transfer.loopLastActivity = eventLoop.now
      switch transfer.loopParser.line(bytes, isHTTP2: ekn_easy_alpn(easy) != EKN_ALPN_OTHER) {
      case .none: return bytes.count
      case .head(let head):
        resend.pointee.has_response = true
        // RFC 9110 §15.5.20: the server does not want such requests over this connection.
        if head.statusCode == 421, head.isHTTP2 { transfer.loopPool?.distrust(transfer.request.origin) }
        transfer.loopReceivedHead(head)
        if transfer.loopEndsWithConnection { requireAnnouncedEnd() }
        eventLoop.responded(transfer, isHTTP2: transfer.loopIsHTTP2)
        eventLoop.markDirty(transfer)
        return bytes.count
      case .wrongVersion:
        let failure = ResponseHeadRules.wrongVersion
        transfer.loopFailure = CurlError.make(failure.code, failure.text, url: transfer.request.url)
        transfer.loopPool?.distrust(transfer.request.origin)
        return 0
      case .failure(let code, let text):
        transfer.loopFailure = CurlError.make(code, text, url: transfer.request.url)
        return 0
      }
    }

    fileprivate func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
      guard let transfer, let upload = transfer.request.upload else { return Int(EKN_READFUNC_ABORT) }
      transfer.loopLastActivity = eventLoop.now
      guard transfer.loopIsAtBodyStart(upload) else { return Int(EKN_READFUNC_ABORT) }
      switch upload.read(into: buffer) {
      case .bytes(let count):
        transfer.loopReadBody(count)
        return count
      case .end:
        transfer.loopEndedBody()
        return 0
      case .pending:
        transfer.loopPauseBits |= Int(EKN_PAUSE_SEND)
        notePausedBody()
        return Int(EKN_READFUNC_PAUSE)
      case .failed(let error):
        transfer.loopFailure = error
        return Int(EKN_READFUNC_ABORT)
      }
    }

    /// Called each time before the request is sent.
    fileprivate func isAboutToSend(over connection: CurlConnection) -> Int32 {
      guard let transfer else { return Int32(EKN_PREREQFUNC_ABORT) }
      // With a proxy, the host name may have been looked up after the socket was opened.
      ended()
      isSending()
      if !transfer.loopResends.hasResent, isMisplaced(transfer, connection) {
        transfer.loopMisplaced()
        return Int32(EKN_PREREQFUNC_ABORT)
      }
      if needsHTTP1 { transfer.loopPool?.distrust(transfer.request.origin) }
      noteProtocol()
      guard transfer.loopSends(wasRefused: wasRefused) else { return Int32(EKN_PREREQFUNC_ABORT) }
      eventLoop.sent(transfer, port: connection.localPort)
      if mayShareConnection { transfer.loopPool?.noteSent(transfer, over: connection) }
      resend.pointee.is_refused = false
      resend.pointee.stream = 0
      return Int32(EKN_PREREQFUNC_OK)
    }

    /// Returns whether the request must not be sent over the connection that libcurl has chosen for it.
    private func isMisplaced(_ transfer: CurlTransfer, _ connection: CurlConnection) -> Bool {
      // It began before the origin was distrusted: libcurl may have given it a connection that others use.
      if mayShareConnection, !transfer.loopTrustsOrigin { return true }
      guard capabilities.reusesConnectionsWithData || transfer.request.isSecure, hasReusedConnection, hasOwnConnection
      else { return false }
      // RFC 9112 §6.3: data that arrived after the last response is not a response to this request.
      if transfer.request.isSecure, hasTLSInput { return true }
      guard capabilities.reusesConnectionsWithData, let socket = transfer.loopPool?.socket(of: connection)
      else { return false }
      return ekn_socket_get_input(socket) != EKN_SOCKET_QUIET
    }

    /// Returns whether libcurl has to end the transfer.
    fileprivate func mustStop() -> Bool {
      if wasStopped { return true }
      noteEnd()
      guard let transfer else { return false }
      switch tunnelStep() {
      case .proceed: return false
      case .check:
        guard transfer.loopDeadline > MonotonicClock.now() else {
          transfer.loopFailure = CurlError.make(.timedOut, "The request timed out", url: transfer.request.url)
          return true
        }
        return transfer.isOver
      case .end:
        // Before 7.80, libcurl does not call back when it sends the request.
        guard capabilities.hasPrereqCallback || !hasSent else {
          isSending()
          return false
        }
        transfer.loopFailure = TunnelWatch.error(url: transfer.request.url)
        return true
      }
    }

    fileprivate func seek(to offset: Int64) -> Int32 {
      guard offset == 0, let upload = transfer?.request.upload, upload.rewind() else { return Int32(EKN_SEEKFUNC_FAIL) }
      transfer?.loopRewound()
      return Int32(EKN_SEEKFUNC_OK)
    }
  }

  /// The callbacks that are passed to libcurl, with the handle as their context.
  enum CurlCallbacks {
    static let write: ekn_data_callback = { data, size, count, context in
      handle(context)?.received(UnsafeRawBufferPointer(start: data, count: size * count)) ?? 0
    }

    static let header: ekn_data_callback = { data, size, count, context in
      handle(context)?.receivedLine(UnsafeRawBufferPointer(start: data, count: size * count)) ?? 0
    }

    static let read: ekn_data_callback = { data, size, count, context in
      handle(context)?.read(into: UnsafeMutableRawBufferPointer(start: data, count: size * count))
        ?? Int(EKN_READFUNC_ABORT)
    }

    static let prereq: ekn_prereq_callback = { context, address, _, port, localPort in
      handle(context)?.isAboutToSend(over: CurlConnection(localPort: localPort, address: address, port: port))
        ?? Int32(EKN_PREREQFUNC_ABORT)
    }

    static let progress: ekn_progress_callback = { context, _, _, _, _ in handle(context)?.mustStop() == true ? 1 : 0 }

    static let seek: ekn_seek_callback = { context, offset, origin in
      handle(context)?.seek(to: origin == SEEK_SET ? offset : -1) ?? Int32(EKN_SEEKFUNC_FAIL)
    }

    private static func handle(_ context: UnsafeMutableRawPointer?) -> CurlHandle? {
      context.map { Unmanaged<CurlHandle>.fromOpaque($0).takeUnretainedValue() }
    }
  }
#endif
