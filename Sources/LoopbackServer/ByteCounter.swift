import Foundation

/// A counter of the bytes that a server has passed to the system for sending. The count is ahead of what the client has
/// read by at most the socket buffers of the client and the server.
public final class ByteCounter: Sendable {
  private struct State: Sendable {
    var count = 0
    var isBlocked = false
    var isFinished = false
  }

  private let state = Monitor(State())

  /// Creates a counter with a count of zero.
  public init() {}

  /// The number of bytes passed to the system.
  public var count: Int { state.withLock { $0.count } }

  /// Whether sending has ended, because all bytes were sent or the client disconnected.
  public var isFinished: Bool { state.withLock { $0.isFinished } }

  /// Suspends until at least `count` bytes have been passed to the system, or sending has ended. Returns the count.
  @discardableResult
  public func wait(for count: Int, timeout: Duration = .seconds(600)) async -> Int {
    _ = await state.wait(timeout: timeout) { $0.count >= count || $0.isFinished }
    return self.count
  }

  /// Suspends until the client has accepted nothing for 200 ms while bytes were waiting for it, or sending has ended.
  /// Returns the count at which sending stopped.
  @discardableResult
  public func waitUntilBlocked(timeout: Duration = .seconds(600)) async -> Int {
    _ = await state.wait(timeout: timeout) { $0.isBlocked || $0.isFinished }
    return count
  }

  /// Suspends until sending has ended. Returns the final count.
  @discardableResult
  public func waitUntilFinished(timeout: Duration = .seconds(600)) async -> Int {
    _ = await state.wait(timeout: timeout) { $0.isFinished }
    return count
  }

  func add(_ bytes: Int) {
    state.withLock { state in
      state.count += bytes
      state.isBlocked = false
    }
  }

  func markBlocked() { state.withLock { $0.isBlocked = true } }

  func finish() { state.withLock { $0.isFinished = true } }
}
