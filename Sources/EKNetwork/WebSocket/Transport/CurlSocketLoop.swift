#if os(Linux)
  import CCurl
  import Foundation

  /// One thread for all WebSocket connections: their handles are called by no other, which is what libcurl asks for.
  ///
  /// Unchecked: `inbox` has its lock; all other state belongs to the loop's thread.
  final class CurlSocketLoop: @unchecked Sendable {
    /// The loop of the process; `nil` when libcurl cannot be opened.
    static let shared: CurlSocketLoop? = CurlSocketLoop()

    private struct Inbox {
      var operations: [@Sendable () -> Void] = []
      var isAsleep = false
    }

    private static let wakeTag = UInt64.max
    private static let eventCapacity = 256

    private let poller: Int32
    private let waker: Int32
    private let inbox = Locked(Inbox())
    private var transports: [UInt32: CurlByteTransport] = [:]
    private var connecting: [UInt32: UInt64] = [:]
    private var nextNumber: UInt32 = 0
    /// What every connection receives into, before its bytes are copied out.
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 * 1024, alignment: 4096)

    private init?() {
      guard ekn_bare_load() else { return nil }
      var poller: Int32 = -1
      var waker: Int32 = -1
      guard ekn_poller_open(&poller, &waker, Self.wakeTag) else { return nil }
      self.poller = poller
      self.waker = waker
      let thread = Thread { [unowned self] in run() }
      thread.name = "EKNetwork.WebSocket"
      thread.stackSize = 1 << 20
      thread.start()
    }

    /// Runs an operation on the loop's thread, after those submitted before. From any thread.
    func submit(_ operation: @escaping @Sendable () -> Void) {
      let mustWake = inbox.withLock { inbox in
        inbox.operations.append(operation)
        defer { inbox.isAsleep = false }
        return inbox.isAsleep
      }
      if mustWake { ekn_waker_wake(waker) }
    }

    // MARK: - The loop's thread

    func add(_ transport: CurlByteTransport) -> UInt32 {
      repeat { nextNumber &+= 1 } while transports[nextNumber] != nil || nextNumber == .max
      transports[nextNumber] = transport
      return nextNumber
    }

    func remove(_ number: UInt32) {
      transports[number] = nil
      connecting[number] = nil
    }

    /// When libcurl wants to be called again for a connection that is being opened; `nil` for not at all.
    func setTimer(_ number: UInt32, milliseconds: Int?) {
      connecting[number] = milliseconds.map { MonotonicClock.now() + UInt64($0) * 1_000_000 }
    }

    func watch(_ socket: Int32, _ what: Int32, number: UInt32) {
      ekn_poller_watch(poller, socket, what, UInt64(number) << 32 | UInt64(UInt32(bitPattern: socket)))
    }

    private func run() {
      ekn_block_broken_pipe_signal()
      var operations: [@Sendable () -> Void] = []
      var ready = [ekn_ready](repeating: ekn_ready(), count: Self.eventCapacity)
      while true {
        inbox.withLock { swap(&$0.operations, &operations) }
        for operation in operations { operation() }
        operations.removeAll(keepingCapacity: operations.count <= 1024)
        fireTimers()
        wait(into: &ready)
      }
    }

    private func fireTimers() {
      guard !connecting.isEmpty else { return }
      let now = MonotonicClock.now()
      for (number, time) in connecting where time <= now {
        connecting[number] = nil
        transports[number]?.loopReady(Int32(EKN_SOCKET_TIMEOUT), events: 0)
      }
    }

    private func wait(into ready: inout [ekn_ready]) {
      let hasWork = inbox.withLock { inbox in
        inbox.isAsleep = inbox.operations.isEmpty
        return !inbox.isAsleep
      }
      let count = ekn_poller_wait(poller, &ready, Int32(Self.eventCapacity), hasWork ? 0 : timeout())
      inbox.withLock { $0.isAsleep = false }
      guard count > 0 else { return }
      for event in ready[..<Int(count)] {
        if event.tag == Self.wakeTag {
          ekn_waker_drain(waker)
        } else {
          transports[UInt32(event.tag >> 32)]?.loopReady(
            Int32(bitPattern: UInt32(truncatingIfNeeded: event.tag)), events: event.events)
        }
      }
    }

    private func timeout() -> Int32 {
      guard let next = connecting.values.min() else { return -1 }
      let now = MonotonicClock.now()
      return next > now ? Int32(clamping: (next - now + 999_999) / 1_000_000) : 0
    }
  }
#endif
