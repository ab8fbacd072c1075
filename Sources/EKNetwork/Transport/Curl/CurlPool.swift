#if os(Linux)
  import CCurl
  import Foundation

  /// The connections of all sessions that may share them. Belongs to whoever holds the event loop's turn.
  final class CurlPool {
    /// Idle connections kept for reuse, and idle easy handles likewise.
    private static let maximumIdle = 64

    /// Connections are only shared where all of it is the same: a session that trusts others must not inherit them, and a
    /// tunnel through a proxy belongs to those who have its credentials.
    struct Key: Hashable, Sendable {
      var connectionsPerHost: Int
      var tls: TLSOptions?
      /// `nil` takes them from the environment.
      var proxies: SessionProxies?
      /// What the file of authorities in `tls` was when the request began.
      var authorities: FileStamp?

      /// The key at this moment: a file of authorities that was replaced is another.
      var current: Key {
        guard let file = tls?.certificateAuthorityFile else { return self }
        var key = self
        key.authorities = FileStamp(path: file.path)
        return key
      }
    }

    let multi: OpaquePointer
    let index: Int
    let key: Key
    /// When libcurl wants to be called although no socket has anything, in nanoseconds of the loop's clock.
    var timer: UInt64?
    private(set) var activeCount = 0
    private var idleHandles: [CurlHandle] = []
    /// Of transfers that have been cancelled, and that libcurl has to end first.
    private var abandonedHandles: [ObjectIdentifier: CurlHandle] = [:]
    private unowned let eventLoop: CurlEventLoop

    init?(index: Int, key: Key, eventLoop: CurlEventLoop) {
      guard let multi = ekn_multi_init() else { return nil }
      self.multi = multi
      self.index = index
      self.key = key
      self.eventLoop = eventLoop
      let context = Unmanaged.passUnretained(self).toOpaque()
      guard ekn_multi_set_socket_callback(multi, socketCallback, context) == 0,
        ekn_multi_set_timer_callback(multi, timerCallback, context) == 0,
        ekn_multi_set_long(multi, Int32(EKN_MOPT_MAX_HOST_CONNECTIONS), key.connectionsPerHost) == 0,
        // libcurl's default is four times the handles of the moment, which closes connections after a burst.
        ekn_multi_set_long(multi, Int32(EKN_MOPT_MAXCONNECTS), max(Self.maximumIdle, key.connectionsPerHost)) == 0
      else {
        ekn_multi_cleanup(multi)
        return nil
      }
    }

    func add(_ transfer: CurlTransfer) -> Bool {
      guard let handle = idleHandles.popLast() ?? CurlHandle(eventLoop: eventLoop) else { return false }
      transfer.loopFailure = handle.prepare(for: transfer)
      transfer.loopHandle = handle
      guard transfer.loopFailure == nil, ekn_multi_add(multi, handle.easy) == 0 else {
        release(handle)
        return false
      }
      activeCount += 1
      return true
    }

    func remove(_ transfer: CurlTransfer) {
      guard let handle = transfer.loopHandle else { return }
      if handle.isResolving {
        transfer.loopHandle = nil
        handle.abandon()
        abandonedHandles[ObjectIdentifier(handle)] = handle
      } else {
        _ = ekn_multi_remove(multi, handle.easy)
        activeCount -= 1
        release(handle)
      }
    }

    /// Sends a transfer's request again, over a connection of its own. `false` when that is not possible.
    func resend(_ transfer: CurlTransfer) -> Bool {
      guard let old = transfer.loopHandle else { return false }
      _ = ekn_multi_remove(multi, old.easy)
      var handle = old
      if !eventLoop.capabilities.reusesHandles {
        guard let new = CurlHandle(eventLoop: eventLoop), new.prepare(for: transfer) == nil else { return false }
        transfer.loopHandle = new
        handle = new
      }
      return handle.useFreshConnection() && ekn_multi_add(multi, handle.easy) == 0
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
        handle.ended()
        if let transfer = handle.transfer { return (transfer, Int(completion.code)) }
        if abandonedHandles.removeValue(forKey: ObjectIdentifier(handle)) != nil {
          _ = ekn_multi_remove(multi, easy)
          activeCount -= 1
          release(handle)
        }
      }
    }

    private func release(_ handle: CurlHandle) {
      handle.transfer?.loopHandle = nil
      guard eventLoop.capabilities.reusesHandles, idleHandles.count < Self.maximumIdle else { return }
      handle.finish()
      idleHandles.append(handle)
    }

    fileprivate func watch(_ socket: Int32, _ what: Int32, easy: OpaquePointer?) {
      let handle = easy.flatMap { ekn_easy_context($0) }.map {
        Unmanaged<CurlHandle>.fromOpaque($0).takeUnretainedValue()
      }
      eventLoop.watch(socket, handle?.watch(socket, what) ?? what, pool: index)
    }

    /// Watches the socket of a transfer that has been paused, or goes on, for what there is to do.
    func watchAgain(_ handle: CurlHandle) {
      guard let (socket, what) = handle.watched else { return }
      eventLoop.watch(socket, handle.watch(socket, what), pool: index)
    }

    fileprivate func setTimer(milliseconds: Int) {
      guard milliseconds >= 0 else {
        timer = nil
        return
      }
      // libcurl rounds its delay down, and after a call that comes too early it does not name the timer again.
      timer = milliseconds == 0 ? 0 : MonotonicClock.now().addingClamped(UInt64(milliseconds + 1) * 1_000_000)
    }
  }

  private func pool(_ context: UnsafeMutableRawPointer?) -> CurlPool? {
    context.map { Unmanaged<CurlPool>.fromOpaque($0).takeUnretainedValue() }
  }

  private let socketCallback: ekn_socket_callback = { easy, socket, what, context, _ in
    pool(context)?.watch(socket, what, easy: easy)
    return 0
  }

  private let timerCallback: ekn_timer_callback = { _, milliseconds, context in
    pool(context)?.setTimer(milliseconds: milliseconds)
    return 0
  }
#endif
