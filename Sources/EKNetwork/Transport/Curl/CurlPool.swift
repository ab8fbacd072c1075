#if os(Linux)
  import CCurl
  import Foundation

  /// The connections of all sessions that may share them. Belongs to whoever holds the event loop's turn.
  ///
  /// Sessions share what is idle: credentials travel with requests, not with connections. How many requests of a session
  /// are under way is not limited here but by ``RequestQueue``, so no session takes the places of another.
  final class CurlPool: Disposable {
    /// Idle connections kept for reuse, and idle easy handles likewise.
    private static let maximumIdle = 64

    /// Connections are only shared where this is the same: a session that trusts others must not inherit them.
    struct Key: Hashable, Sendable {
      var tls: TLSOptions?
    }

    let multi: OpaquePointer
    let index: Int
    let key: Key
    /// When libcurl wants to be called although no socket has anything, in nanoseconds of the loop's clock.
    var timer: UInt64?
    private(set) var activeCount = 0
    /// How many transfers wait or are under way.
    var users = 0
    var unusedSince: UInt64 = 0
    var deadlineIndex = -1
    /// Whether libcurl says when it begins to send a request.
    private(set) var reportsSending = true
    /// How many connections libcurl keeps, those that are in use included.
    private var capacity = 0
    private var idleHandles: [CurlHandle] = []
    private unowned let eventLoop: CurlEventLoop

    init?(index: Int, key: Key, eventLoop: CurlEventLoop) {
      guard let multi = ekn_multi_init() else { return nil }
      self.multi = multi
      self.index = index
      self.key = key
      self.eventLoop = eventLoop
      let context = Unmanaged.passUnretained(self).toOpaque()
      _ = ekn_multi_set_socket_callback(multi, socketCallback, context)
      _ = ekn_multi_set_timer_callback(multi, timerCallback, context)
      fitCapacity()
    }

    /// Closes all connections. Only when nothing is under way, and for good.
    func close() {
      idleHandles = []
      ekn_multi_cleanup(multi)
    }

    func add(_ transfer: CurlTransfer) -> Bool {
      guard let handle = idleHandles.popLast() ?? CurlHandle(eventLoop: eventLoop) else { return false }
      handle.prepare(for: transfer)
      reportsSending = handle.reportsSending
      transfer.loopHandle = handle
      guard ekn_multi_add(multi, handle.easy) == 0 else {
        release(handle)
        return false
      }
      activeCount += 1
      fitCapacity()
      return true
    }

    func remove(_ transfer: CurlTransfer) {
      guard let handle = transfer.loopHandle else { return }
      _ = ekn_multi_remove(multi, handle.easy)
      activeCount -= 1
      fitCapacity()
      release(handle)
    }

    /// libcurl counts connections in use along with idle ones. Its default, four times the handles of the moment, closes
    /// connections after a burst; a constant would leave none to be reused beside many feeds.
    private func fitCapacity() {
      let wanted = activeCount + Self.maximumIdle
      guard wanted > capacity || wanted < capacity / 4 else { return }
      capacity = wanted * 2
      _ = ekn_multi_set_long(multi, Int32(EKN_MOPT_MAXCONNECTS), capacity)
    }

    /// Tells libcurl that a socket is ready, or that its timer has fired.
    func act(on socket: Int32, events: Int32) {
      var running: Int32 = 0
      _ = ekn_multi_socket_action(multi, socket, events, &running)
    }

    /// The next transfer that has ended, and libcurl's result code.
    func nextFinished() -> (transfer: CurlTransfer, code: Int)? {
      while true {
        let completion = ekn_multi_next_completion(multi)
        guard let easy = completion.easy else { return nil }
        guard let context = ekn_easy_context(easy) else { continue }
        let handle = Unmanaged<CurlHandle>.fromOpaque(context).takeUnretainedValue()
        if let transfer = handle.transfer { return (transfer, Int(completion.code)) }
      }
    }

    private func release(_ handle: CurlHandle) {
      handle.transfer?.loopHandle = nil
      handle.finish()
      if idleHandles.count < Self.maximumIdle { idleHandles.append(handle) }
    }

    fileprivate func watch(_ socket: Int32, _ what: Int32) {
      eventLoop.watch(socket, what, pool: index)
    }

    fileprivate func setTimer(milliseconds: Int) {
      timer = LoopTime.timer(milliseconds: milliseconds, now: MonotonicClock.now())
    }
  }

  private func pool(_ context: UnsafeMutableRawPointer?) -> CurlPool? {
    context.map { Unmanaged<CurlPool>.fromOpaque($0).takeUnretainedValue() }
  }

  private let socketCallback: ekn_socket_callback = { _, socket, what, context, _ in
    pool(context)?.watch(socket, what)
    return 0
  }

  private let timerCallback: ekn_timer_callback = { _, milliseconds, context in
    pool(context)?.setTimer(milliseconds: milliseconds)
    return 0
  }
#endif
