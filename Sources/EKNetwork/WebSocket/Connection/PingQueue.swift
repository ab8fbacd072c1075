import Foundation

/// The pings that wait for their pongs. A value: each method returns what to do.
///
/// What was passed to the transport cannot be taken back, so one frame at a time is: a ping that is cancelled before its
/// turn is never sent, however long the peer does not read.
struct PingQueue {
  typealias Waiter = CheckedContinuation<Void, any Error>

  private var waiters: [Data: Waiter] = [:]
  /// The payloads of the pings that have not been sent, in order.
  private var unsent = KeyedQueue<Data, Data>()
  private var isSending = false

  /// The number of pings that wait.
  var count: Int { waiters.count }

  /// Adds a ping; returns whether to send it now.
  mutating func add(_ payload: Data, _ waiter: Waiter) -> Bool {
    waiters[payload] = waiter
    guard isSending else {
      isSending = true
      return true
    }
    unsent.append(payload, id: payload)
    return false
  }

  /// Handles a frame that the system has accepted; returns the payload of the next ping to send.
  mutating func sent() -> Data? {
    let next = unsent.popFirst()
    isSending = next != nil
    return next
  }

  /// Handles a frame that could not be sent, after which none can be; returns the pings that will get no pong.
  mutating func failed(_ payload: Data) -> [Waiter] {
    isSending = false
    return ([payload] + unsent.removeAll()).compactMap { waiters.removeValue(forKey: $0) }
  }

  /// Handles a pong; returns the ping with its payload, if that waits.
  mutating func answered(_ payload: Data) -> Waiter? { waiters.removeValue(forKey: payload) }

  /// Removes and returns a ping that was cancelled, if it still waits.
  mutating func cancelled(_ payload: Data) -> Waiter? {
    unsent.remove(payload)
    return waiters.removeValue(forKey: payload)
  }

  /// Removes and returns all pings.
  mutating func removeAll() -> [Waiter] {
    defer { (waiters, unsent) = ([:], KeyedQueue()) }
    return Array(waiters.values)
  }
}
