import Foundation

/// A latch that stays open once it has been opened. A test uses it to decide when the server continues.
public final class Gate: Sendable {
  private struct State: Sendable {
    var isOpen = false
    /// The pipe that threads poll while the gate is closed; closing its writing end wakes them all.
    var pipe: WakePipe?
  }

  private let state = Monitor(State())

  /// Creates a closed gate.
  public init() {}

  deinit { state.withLock { $0.pipe?.closeBoth() } }

  /// Whether the gate is open.
  public var isOpen: Bool { state.withLock { $0.isOpen } }

  /// Opens the gate permanently, for all waiters.
  public func open() {
    state.withLock { state in
      guard !state.isOpen else { return }
      state.isOpen = true
      state.pipe?.closeWriting()
    }
  }

  /// Suspends until the gate is open. Returns whether it is: false if the task was cancelled or the timeout expired.
  @discardableResult
  public func wait(timeout: Duration = .seconds(600)) async -> Bool {
    await state.wait(timeout: timeout) { $0.isOpen }
  }

  /// Blocks the thread until the gate is open. Returns whether it is: false if the timeout expired or, in a handler, if
  /// the client disconnected or the server stopped.
  @discardableResult
  public func waitBlocking(timeout: Duration = .seconds(600)) -> Bool {
    if let socket = Socket.current { return socket.wait(for: self, timeout: timeout) == .signalled }
    if !isOpen { _ = pollEvents([(pollDescriptor, Int16(POLLIN))], timeout: timeout) }
    return isOpen
  }

  /// A descriptor that becomes readable once the gate is open; valid as long as the gate exists.
  var pollDescriptor: Int32 {
    state.withLock { state in
      if let pipe = state.pipe { return pipe.reading }
      guard let pipe = WakePipe() else { return -1 }
      state.pipe = pipe
      if state.isOpen { state.pipe?.closeWriting() }
      return pipe.reading
    }
  }
}
