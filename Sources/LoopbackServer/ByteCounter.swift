import Foundation

/// Counts bytes that a server has handed to the system for sending. What it counts is at most the client's and the
/// server's socket buffers ahead of what the client has read.
public final class ByteCounter: Sendable {
  private struct State: Sendable {
    var count = 0
    var isBlocked = false
    var isFinished = false
  }

  private let state = Monitor(State())

  /// Makes a counter that stands at zero.
  public init() {}

  /// How many bytes have been handed over.
  public var count: Int { state.withLock { $0.count } }

  /// Whether sending has ended, with all bytes or because the client left.
  public var isFinished: Bool { state.withLock { $0.isFinished } }

  /// Suspends until that many bytes have been handed over, or sending has ended. Returns the count.
  @discardableResult
  public func wait(for count: Int, timeout: Duration = .seconds(600)) async -> Int {
    _ = await state.wait(timeout: timeout) { $0.count >= count || $0.isFinished }
    return self.count
  }

  /// Suspends until the client has taken nothing for a fifth of a second while bytes were waiting for it, or
  /// sending has ended. Returns the count at which sending stopped.
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
