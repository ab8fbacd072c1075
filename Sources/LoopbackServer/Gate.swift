import Foundation

/// A door that stays open once it was opened. A test decides with it when the server goes on.
public final class Gate: Sendable {
  private struct State: Sendable {
    var isOpen = false
    /// The ends of a pipe that threads poll while the gate is shut; closing the writing end wakes them all.
    var pipe: WakePipe?
  }

  private let state = Monitor(State())

  /// Makes a gate that is shut.
  public init() {}

  deinit { state.withLock { $0.pipe?.closeBoth() } }

  /// Whether it is open.
  public var isOpen: Bool { state.withLock { $0.isOpen } }

  /// Opens the gate for all, for ever.
  public func open() {
    state.withLock { state in
      guard !state.isOpen else { return }
      state.isOpen = true
      state.pipe?.closeWriting()
    }
  }

  /// Suspends until the gate is open. Returns whether it is: false when the task was cancelled or the time was up.
  @discardableResult
  public func wait(timeout: Duration = .seconds(600)) async -> Bool {
    await state.wait(timeout: timeout) { $0.isOpen }
  }

  /// Blocks the thread until the gate is open. Returns whether it is: false when the time was up or, in a handler,
  /// when the client left or the server stopped.
  @discardableResult
  public func waitBlocking(timeout: Duration = .seconds(600)) -> Bool {
    if let socket = Socket.current { return socket.wait(for: self, timeout: timeout) == .signalled }
    if !isOpen { _ = pollEvents([(pollDescriptor, Int16(POLLIN))], timeout: timeout) }
    return isOpen
  }

  /// A descriptor that is readable once the gate is open; valid as long as the gate lives.
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
