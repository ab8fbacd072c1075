#if os(Linux)
  import CCurl

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

    /// Returns `nil` if there is no memory left.
    init?() {
      guard let multi = ekn_multi_init() else { return nil }
      self.multi = multi
      let context = Unmanaged.passUnretained(self).toOpaque()
      guard ekn_multi_set_socket_callback(multi, socketCallback, context) == 0,
        ekn_multi_set_timer_callback(multi, timerCallback, context) == 0
      else {
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
      var completion = ekn_multi_next_completion(multi)
      while let easy = completion.easy {
        if let opener = ConnectionOpener.of(easy) { ended.append((opener, Int(completion.code))) }
        completion = ekn_multi_next_completion(multi)
      }
      // Not before libcurl has nothing more to report: an opener that has ended closes a multi handle of its own.
      for (opener, code) in ended { opener.ended(code: code) }
    }

    /// Removes the callbacks, and returns whether libcurl has accepted that.
    func removeCallbacks() -> Bool {
      (onTimer, onWatch) = (nil, nil)
      return ekn_multi_set_socket_callback(multi, nil, nil) == 0 && ekn_multi_set_timer_callback(multi, nil, nil) == 0
    }

    func close() { ekn_multi_cleanup(multi) }

    fileprivate func noteTimer(_ milliseconds: Int) {
      timer = LoopTime.timer(milliseconds: milliseconds, now: MonotonicClock.now()) ?? .max
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
