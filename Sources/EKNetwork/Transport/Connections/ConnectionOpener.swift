#if os(Linux)
  import CCurl
  import Foundation
  import FoundationNetworking

  /// Opens a connection with libcurl: names, addresses and the choice between them, proxies and TLS are its own. It
  /// belongs to the thread of an event loop, which calls ``act(on:events:)`` when a socket or the timer is ready.
  final class ConnectionOpener {
    struct Times {
      var lookup = Duration.zero
      var connect = Duration.zero
      /// `nil` without TLS.
      var secureConnect: Duration?
    }

    typealias Outcome = Result<(bytes: ConnectionBytes, times: Times), CurlError.Failure>

    private let handles: CurlHandles
    private let endpoint: ByteTransportEndpoint
    private let watch: (_ descriptor: Int32, _ what: Int32) -> Void
    private let setTimer: (_ milliseconds: Int) -> Void
    private let mustStop: () -> Bool
    private var tunnel = TunnelWatch()
    private var isEndless = false
    /// The sockets that are watched for libcurl.
    private var sockets: Set<Int32> = []
    private var isOver = false
    private var isActing = false
    private var outcome: Outcome?
    private let forgetsNextAddress: Bool

    /// Returns `nil` if there is no memory left, and throws a ``TransportOptionError`` if libcurl refuses an option.
    ///
    /// - Parameters:
    ///   - watch: Watches a socket for `EKN_POLL_…`.
    ///   - shared: Where to open it, if the bytes are those of its socket. Its timer and its sockets have to be observed.
    ///     `nil` for a multi handle of its own.
    ///   - names: The addresses that it shares with others on its thread.
    ///   - setTimer: Sets when ``act(on:events:)`` has to be called with `EKN_SOCKET_TIMEOUT`; -1 for never.
    ///   - mustStop: Whether to fail. libcurl may not return before a proxy's response to `CONNECT` has ended, and asks
    ///     now and then.
    init?(
      _ endpoint: ByteTransportEndpoint, _ capabilities: CurlCapabilities, shared: OpeningMulti? = nil,
      names: OpaquePointer? = nil, watch: @escaping (_ descriptor: Int32, _ what: Int32) -> Void,
      setTimer: @escaping (_ milliseconds: Int) -> Void, mustStop: @escaping () -> Bool
    ) throws {
      let joinsResolver = capabilities.joinsResolver
      // What libcurl knows of names belongs to a multi handle, too.
      let isShared = !joinsResolver && !ConnectionBytes.needsHandles(endpoint) && !endpoint.route.hasOwnNames
      guard let handles = CurlHandles(joinsResolver: joinsResolver, shared: isShared ? shared : nil) else {
        return nil
      }
      self.handles = handles
      self.endpoint = endpoint
      self.watch = watch
      self.setTimer = setTimer
      self.mustStop = mustStop
      forgetsNextAddress = capabilities.defects.contains(.forgetsNextAddress)
      let context = Unmanaged.passUnretained(self).toOpaque()
      if let error = handles.configure(
        endpoint, capabilities, names: names, progress: progressCallback, context: context)
      {
        handles.close()
        throw error
      }
      if handles.opening !== shared {
        handles.opening.onTimer = { [unowned self] in if !isOver { setTimer($0) } }
        handles.opening.onWatch = { [unowned self] in noteWatched($0, $1) }
      }
      guard handles.opening.add(handles.easy) else {
        handles.close()
        return nil
      }
    }

    /// The opener of an easy handle; `nil` if the handle is libcurl's own.
    static func of(_ easy: OpaquePointer) -> ConnectionOpener? {
      ekn_easy_info_pointer(easy, Int32(EKN_INFO_PRIVATE)).map {
        Unmanaged<ConnectionOpener>.fromOpaque($0).takeUnretainedValue()
      }
    }

    /// Tells libcurl that a socket is ready, or that its timer has fired. Returns the outcome once there is one, after
    /// which the opener must not be used.
    func act(on descriptor: Int32, events: Int32) -> Outcome? {
      if outcome == nil {
        isActing = true
        handles.opening.act(on: descriptor, events: events)
        isActing = false
      }
      return outcome.take()
    }

    /// Lets libcurl be called for it once more.
    fileprivate func wake() { if !isOver { ekn_easy_wake(handles.easy) } }

    /// Ends the attempt, before its outcome was returned.
    func cancel() {
      switch outcome {
      case nil:
        stopWatching()
        handles.close()
      case .success(let opened)?: opened.bytes.close()
      case .failure?: break
      }
    }

    /// Notes that libcurl has opened the connection, or cannot. It may then close it at any time, unless that is handled
    /// at once.
    func ended(code: Int) {
      guard !isOver else { return }
      stopWatching()
      outcome = outcome(code)
      if !isActing { setTimer(0) }
    }

    private func outcome(_ code: Int) -> Outcome {
      let times = times
      if code == 0 {
        handles.shareAuthorities()
        // The handles may outlive the opener.
        if handles.removeCallbacks(), let bytes = ConnectionBytes(handles, of: endpoint) {
          return .success((bytes, times))
        }
        handles.close()
        return .failure(.noResources)
      }
      defer { handles.close() }
      guard !isEndless else { return .failure(TunnelWatch.failure) }
      // libcurl only says that it could not connect, find a name or read a file.
      if code == 7, handles.lookup.pointee.lacks_resources { return .failure(.noResources) }
      if Self.needsDescriptors.contains(code), ekn_lacks_descriptors() { return .failure(.noResources) }
      var failure = handles.failure(code: code)
      failure.socketPath = endpoint.route.socketPath
      failure.hasProxy = endpoint.proxy != nil
      return .failure(failure)
    }

    /// `CURLE_COULDNT_RESOLVE_PROXY`, `…_HOST`, `CURLE_SSL_CERTPROBLEM` and `CURLE_SSL_CACERT_BADFILE`.
    private static let needsDescriptors: Set = [5, 6, 58, 77]

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

    func noteWatched(_ descriptor: Int32, _ what: Int32) {
      guard !isOver else { return }
      if what != EKN_POLL_REMOVE {
        sockets.insert(descriptor)
      } else if sockets.remove(descriptor) == nil {
        return
      } else if forgetsNextAddress {
        handles.opening.waking.append(self)
      }
      watch(descriptor, what)
    }

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

  /// The length of a proxy's response to `CONNECT` (RFC 9110 §9.3.6). libcurl reads it within one call, and calls back for
  /// each byte, and at other times: both count, until the connection is open.
  struct TunnelWatch {
    enum Step {
      case proceed
      /// The event loop may not have run for a while: check what it would have checked.
      case check
      /// The response is too long.
      case end
    }

    static let maximumSize = ResponseHeadRules.maximumSize
    private static let checkInterval = 1024

    private var size = 0
    private var sockets: UInt32 = 0

    init() {}

    /// - Parameter sockets: The number of sockets that were opened: another connection may need another tunnel.
    mutating func step(sockets count: UInt32) -> Step {
      if count != sockets {
        self = TunnelWatch()
        sockets = count
      }
      size += 1
      if size > Self.maximumSize { return .end }
      return size % Self.checkInterval == 0 ? .check : .proceed
    }

    static let failure = CurlError.Failure(
      code: CurlError.excess, text: "The proxy's response to CONNECT is longer than \(maximumSize) bytes")
  }

  private let progressCallback: ekn_progress_callback = { context, _, _, _, _ in
    guard let context else { return 0 }
    return Unmanaged<ConnectionOpener>.fromOpaque(context).takeUnretainedValue().noteProgress() ? 1 : 0
  }

  /// A multi handle of libcurl that opens connections, for one ``ConnectionOpener`` or for many: it takes more memory than
  /// all else of a connection without TLS.
  ///
  /// Unchecked: it belongs to the thread of its event loop until it is closed.
  final class OpeningMulti: @unchecked Sendable {
    private let multi: OpaquePointer
    /// When ``fireTimer(now:)`` is due; `.max` for never.
    private(set) var timer = UInt64.max
    /// Called when that has changed.
    var onTimer: ((_ milliseconds: Int) -> Void)?
    /// Called to watch a socket of libcurl's own for `EKN_POLL_…`: from 8.20 on, its resolver is one for all.
    var onWatch: ((_ descriptor: Int32, _ what: Int32) -> Void)?
    /// Those for which libcurl has to be called once more.
    fileprivate var waking: [ConnectionOpener] = []

    /// Returns `nil` if there is no memory left.
    init?() {
      guard let multi = ekn_multi_init() else { return nil }
      self.multi = multi
      let context = Unmanaged.passUnretained(self).toOpaque()
      guard ekn_multi_set_callbacks(multi, socketCallback, timerCallback, context) == 0 else {
        ekn_multi_cleanup(multi)
        return nil
      }
    }

    func add(_ easy: OpaquePointer) -> Bool { ekn_multi_add(multi, easy) == 0 }

    func remove(_ easy: OpaquePointer) { _ = ekn_multi_remove(multi, easy) }

    /// Calls libcurl if its timer is due.
    func fireTimer(now: UInt64) {
      guard timer <= now else { return }
      timer = .max
      act(on: Int32(EKN_SOCKET_TIMEOUT), events: 0)
    }

    /// Tells libcurl that a socket is ready, or that its timer has fired, and the openers that have ended their outcomes.
    func act(on descriptor: Int32, events: Int32) {
      var running: Int32 = 0
      _ = ekn_multi_socket_action(multi, descriptor, events, &running)
      var ended: [(opener: ConnectionOpener, code: Int)] = []
      var code: Int32 = 0
      while let easy = ekn_multi_next_ended(multi, &code) {
        if let opener = ConnectionOpener.of(easy) { ended.append((opener, Int(code))) }
      }
      // Not before libcurl has nothing more to report: an opener that has ended closes a multi handle of its own.
      for (opener, code) in ended { opener.ended(code: code) }
      while let opener = waking.popLast() { opener.wake() }
    }

    /// Removes the callbacks, and returns whether libcurl has accepted that.
    func removeCallbacks() -> Bool {
      (onTimer, onWatch) = (nil, nil)
      return ekn_multi_set_callbacks(multi, nil, nil, nil) == 0
    }

    func close() { ekn_multi_cleanup(multi) }

    fileprivate func noteTimer(_ milliseconds: Int) {
      timer = LoopTime.timer(milliseconds: milliseconds, now: MonotonicClock.now())
      onTimer?(milliseconds)
    }
  }

  private let socketCallback: ekn_socket_callback = { easy, descriptor, what, context, _ in
    if let opener = easy.flatMap({ ConnectionOpener.of($0) }) {
      opener.noteWatched(descriptor, what)
    } else if let context {
      Unmanaged<OpeningMulti>.fromOpaque(context).takeUnretainedValue().onWatch?(descriptor, what)
    }
    return 0
  }

  private let timerCallback: ekn_timer_callback = { _, milliseconds, context in
    if let context { Unmanaged<OpeningMulti>.fromOpaque(context).takeUnretainedValue().noteTimer(milliseconds) }
    return 0
  }
#endif
