#if os(Linux)
  import CCurl
  import Foundation

  /// Opens a connection with libcurl: names, addresses and the choice between them, proxies and TLS are its own. It
  /// belongs to the thread of an event loop, which calls ``act(on:events:)`` when a socket or the timer is ready.
  final class ConnectionOpener {
    struct Times {
      var lookup = Duration.zero
      var connect = Duration.zero
      /// `nil` without TLS.
      var secureConnect: Duration?
    }

    enum Outcome {
      case opened(ConnectionBytes, Times)
      case failed(CurlError.Failure)
      /// A proxy's response to `CONNECT` is too long.
      case endlessTunnel
      /// The process has no memory or no descriptors left.
      case noResources
    }

    private let handles: CurlBareHandles
    private let endpoint: ByteTransportEndpoint
    private let watch: (_ descriptor: Int32, _ what: Int32) -> Void
    private let setTimer: (_ milliseconds: Int) -> Void
    private let mustStop: () -> Bool
    private var tunnel = TunnelWatch()
    private var isEndless = false
    /// The sockets that are watched for libcurl.
    private var sockets: Set<Int32> = []
    private var isOver = false

    /// Returns `nil` if there is no memory left, and throws a ``TransportOptionError`` if libcurl refuses an option.
    ///
    /// - Parameters:
    ///   - watch: Watches a socket for `EKN_POLL_…`.
    ///   - setTimer: Sets when ``act(on:events:)`` has to be called with `EKN_SOCKET_TIMEOUT`; -1 for never.
    ///   - mustStop: Whether to fail. libcurl may not return before a proxy's response to `CONNECT` has ended, and asks
    ///     now and then.
    init?(
      _ endpoint: ByteTransportEndpoint, _ capabilities: CurlCapabilities,
      watch: @escaping (_ descriptor: Int32, _ what: Int32) -> Void,
      setTimer: @escaping (_ milliseconds: Int) -> Void, mustStop: @escaping () -> Bool
    ) throws {
      guard let handles = CurlBareHandles(joinsResolver: capabilities.joinsResolver) else { return nil }
      self.handles = handles
      self.endpoint = endpoint
      self.watch = watch
      self.setTimer = setTimer
      self.mustStop = mustStop
      let context = Unmanaged.passUnretained(self).toOpaque()
      if let error = handles.configure(endpoint, capabilities, progress: progressCallback, context: context) {
        handles.close()
        throw error
      }
      guard ekn_multi_set_socket_callback(handles.multi, socketCallback, context) == 0,
        ekn_multi_set_timer_callback(handles.multi, timerCallback, context) == 0,
        ekn_multi_add(handles.multi, handles.easy) == 0
      else {
        handles.close()
        return nil
      }
    }

    /// Tells libcurl that a socket is ready, or that its timer has fired. Returns the outcome once there is one, after
    /// which the opener must not be used.
    func act(on descriptor: Int32, events: Int32) -> Outcome? {
      var running: Int32 = 0
      _ = ekn_multi_socket_action(handles.multi, descriptor, events, &running)
      let completion = ekn_multi_next_completion(handles.multi)
      guard completion.easy != nil else { return nil }
      stopWatching()
      guard completion.code == 0 else {
        guard !isEndless else {
          handles.close()
          return .endlessTunnel
        }
        let failure = handles.failure(code: Int(completion.code))
        handles.close()
        return .failed(failure)
      }
      let times = times
      // The handles may outlive the opener.
      guard handles.removeCallbacks(), let bytes = ConnectionBytes(handles, of: endpoint) else {
        handles.close()
        return .noResources
      }
      return .opened(bytes, times)
    }

    /// Ends the attempt, before there is an outcome.
    func cancel() {
      stopWatching()
      handles.close()
    }

    private var times: Times {
      func time(_ info: Int) -> Duration { .microseconds(ekn_easy_info_offset(handles.easy, Int32(info))) }
      let connect = time(EKN_INFO_CONNECT_TIME)
      return Times(
        lookup: time(EKN_INFO_NAMELOOKUP_TIME), connect: connect,
        secureConnect: endpoint.isSecure ? time(EKN_INFO_APPCONNECT_TIME) - connect : nil)
    }

    private func stopWatching() {
      isOver = true
      for descriptor in sockets { watch(descriptor, Int32(EKN_POLL_REMOVE)) }
      sockets = []
    }

    // libcurl may call back when the handles are closed, too.

    fileprivate func noteWatched(_ descriptor: Int32, _ what: Int32) {
      guard !isOver else { return }
      if what != EKN_POLL_REMOVE { sockets.insert(descriptor) } else if sockets.remove(descriptor) == nil { return }
      watch(descriptor, what)
    }

    fileprivate func noteTimer(_ milliseconds: Int) { if !isOver { setTimer(milliseconds) } }

    fileprivate func noteProgress() -> Bool {
      guard !isOver else { return false }
      switch tunnel.step(sockets: handles.lookup.pointee.sockets) {
      case .proceed: return false
      case .check: return mustStop()
      case .end:
        isEndless = true
        return true
      }
    }
  }

  private func opener(_ context: UnsafeMutableRawPointer?) -> ConnectionOpener? {
    context.map { Unmanaged<ConnectionOpener>.fromOpaque($0).takeUnretainedValue() }
  }

  private let socketCallback: ekn_socket_callback = { _, descriptor, what, context, _ in
    opener(context)?.noteWatched(descriptor, what)
    return 0
  }

  private let progressCallback: ekn_progress_callback = { context, _, _, _, _ in
    opener(context)?.noteProgress() == true ? 1 : 0
  }

  private let timerCallback: ekn_timer_callback = { _, milliseconds, context in
    opener(context)?.noteTimer(milliseconds)
    return 0
  }
#endif
