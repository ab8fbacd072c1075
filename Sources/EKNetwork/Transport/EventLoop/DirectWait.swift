/// Whether the thread that has sent a request waits for the response itself: waking two threads, that of the loop and then
/// one for the caller, takes longer than a server nearby.
///
/// The thread belongs to the executor of the caller's task, which needs it for other tasks. So it waits for a moment only,
/// and only if the responses before came as soon. If one does not, the next are left to the loop's thread, twice as many
/// as the last time.
///
/// In the same way it is decided whether the consumer of a body reads it from the wire itself, which it only does if it soon
/// wants more, so that the loop's thread would gain nothing by reading ahead.
struct DirectWait {
  #if os(Linux)
    /// Only where the executor has other threads.
    static let ofProcess = DirectWait(longest: ekn_processor_count() > 1 ? 100_000 : 0)
  #endif
  private static var maximumPause: Int { 64 }
  /// After how many reads of bodies by their consumers one is left to the loop's thread: a task that never has to wait for
  /// another thread keeps its own from all other tasks.
  static var maximumReads: Int { 64 }

  /// For how long it waits, in nanoseconds; 0 for not at all.
  let longest: UInt64
  /// How soon a response must have come for which the loop's thread has waited: this time includes waking it.
  let promising: UInt64
  /// For how many responses that come soon it does not wait, and for how many the last time.
  private var (pause, lastPause) = (1, 0)

  init(longest: UInt64, promising: UInt64 = 200_000) {
    self.longest = longest
    self.promising = promising
  }

  /// Whether to wait for the response to the request that has just been sent.
  var begins: Bool { longest > 0 && pause == 0 }

  /// Handles the beginning of a response.
  ///
  /// - Parameter time: The number of nanoseconds since the request was begun.
  mutating func responded(after time: UInt64) {
    if pause > 0, time <= promising { pause -= 1 }
  }

  /// Handles the end of a wait.
  mutating func ended(inTime: Bool) {
    lastPause = inTime ? 0 : min(max(1, 2 * lastPause), Self.maximumPause)
    pause = lastPause
  }
}

#if os(Linux)
  import CCurl
  import Foundation

  /// Turns on the threads of callers.
  extension EventLoop {
    /// Starts a transfer on the calling thread, if the turn is free and nothing is in progress, and may wait for its
    /// response.
    func startDirectly(_ transfer: Transfer) -> Bool {
      var finished: [Transfer.Queue.Delivery] = []
      var waiting: (connection: LoopConnection, socket: Int32)?
      var mustWake: Bool? = turn.withLockIfFree { turn -> Bool? in
        guard turn.allowsDirectStart, !LoopsAtExit.isDue,
          !transfer.request.isSecure || pools.hasConnection(transfer.request.connection, to: transfer.request.origin)
        else { return nil }
        let wasHeld = ekn_hold_broken_pipe_signal()
        now = MonotonicClock.now()
        turn.hadDirectStart = true
        start(transfer)
        finishTurn(&turn, into: &finished, expires: true)
        ekn_release_broken_pipe_signal(wasHeld)
        waiting = beginDirectWait(for: transfer)
        return isAlarmLate(turn)
      }.flatMap { $0 }
      guard mustWake != nil else { return false }
      for delivery in finished { delivery.resume() }
      // If the response comes in the meantime, the loop's thread need not know of its deadline.
      if let (connection, socket) = waiting { mustWake = waitDirectly(for: transfer, on: connection, socket) }
      if mustWake == true { poller.wake() }
      return true
    }

    /// Whether the thread of the loop has to be woken before its alarm.
    private func isAlarmLate(_ turn: LoopTurn) -> Bool { min(due, pools.cleanup) < turn.alarm }

    /// Returns the connection and the socket if the thread is to wait for the response of a transfer that it has just
    /// sent. The loop's thread would be woken as well, and does not watch the socket for now.
    private func beginDirectWait(for transfer: Transfer) -> (LoopConnection, Int32)? {
      guard let connection = transfer.loopConnection?.carrier, connection.directWait.begins,
        let socket = connection.responseSocket
      else { return nil }
      watch(socket, 0, connection: connection.number)
      return (connection, socket)
    }

    /// Waits for the response, without the turn, and reads it or leaves it to the loop's thread. Returns whether that must
    /// be woken.
    ///
    /// - Parameter socket: The socket of the connection, which may be closed and replaced meanwhile.
    private func waitDirectly(for transfer: Transfer, on connection: LoopConnection, _ socket: Int32) -> Bool {
      let isReadable = ekn_socket_wait_for_input(socket, directWait.longest)
      var finished: [Transfer.Queue.Delivery] = []
      let mustWake = turn.withLock { turn in
        // It may be over, or repeated over another connection.
        guard !LoopsAtExit.isDue, transfer.loopConnection?.carrier === connection else { return false }
        connection.directWait.ended(inTime: isReadable)
        guard isReadable else {
          // Unless the loop's thread has done it, because of another request on the connection.
          if sockets.events(of: socket) == 0 { watch(socket, Int32(EKN_POLL_IN), connection: connection.number) }
          return isAlarmLate(turn)
        }
        now = MonotonicClock.now()
        turn.hadDirectStart = true
        turn.directResponseCount += 1
        let wasHeld = ekn_hold_broken_pipe_signal()
        connection.ready(socket, events: Int32(EKN_POLL_IN))
        finishTurn(&turn, into: &finished, expires: false)
        ekn_release_broken_pipe_signal(wasHeld)
        return isAlarmLate(turn)
      }
      for delivery in finished { delivery.resume() }
      return mustWake
    }

    /// Receives more of a body on the thread of its consumer, which would have to be woken by that of the loop. What cannot be
    /// received so is left to the loop's thread.
    func receiveDirectly(_ transfer: Transfer) {
      var finished: [Transfer.Queue.Delivery] = []
      // The loop's thread might have to wait for its turn until many of these are over.
      let begun =
        poller.hasOperations ? nil : turn.withLockIfFree { receive(transfer, in: &$0, into: &finished) }
      guard var step = begun else { return poller.submit(.resumeReceiving(transfer)) }
      for delivery in finished { delivery.resume() }
      if let waiting = step.waiting {
        let isReadable = ekn_socket_wait_for_input(waiting.socket, directWait.longest)
        finished.removeAll(keepingCapacity: true)
        step = turn.withLock { receive(transfer, in: &$0, into: &finished, after: (waiting.connection, isReadable)) }
        for delivery in finished { delivery.resume() }
      }
      if step.mustWake { poller.wake() }
    }

    /// - Parameter wait: The connection whose socket was waited for, and whether it is readable.
    /// - Returns: The connection whose socket is to be waited for, without the turn; `nil` if nothing is left to be done. And
    ///   whether the loop's thread has to be woken.
    private func receive(
      _ transfer: Transfer, in turn: inout LoopTurn, into finished: inout [Transfer.Queue.Delivery],
      after wait: (connection: LoopConnection, isReadable: Bool)? = nil
    ) -> (waiting: (connection: LoopConnection, socket: Int32)?, mustWake: Bool) {
      // It may be over, and the connection closed.
      guard !LoopsAtExit.isDue, transfer.loopPauses.contains(.receiving),
        let connection = transfer.loopConnection?.carrier, wait.map({ $0.connection === connection }) ?? true
      else { return (nil, isAlarmLate(turn)) }
      now = MonotonicClock.now()
      let isPrompt = wait?.isReadable ?? transfer.loopConsumerIsPrompt
      if wait != nil || !isPrompt { transfer.loopDirectReads.ended(inTime: isPrompt) }
      let received = transfer.loopReceived
      transfer.loopIsReadDirectly = true
      turn.hadDirectStart = true
      let wasHeld = ekn_hold_broken_pipe_signal()
      resume(transfer, .receiving)
      let socket = connection.bodySocket
      if let socket, wait?.isReadable != false { connection.ready(socket, events: Int32(EKN_POLL_IN)) }
      finishTurn(&turn, into: &finished, expires: false)
      ekn_release_broken_pipe_signal(wasHeld)
      transfer.loopIsReadDirectly = false
      let hasReceived = transfer.loopReceived > received
      if hasReceived {
        turn.directReadCount += 1
        if isPrompt { transfer.loopDirectReads.ended(inTime: turn.directReadCount % DirectWait.maximumReads != 0) }
      }
      // It is over, or left to the consumer again.
      guard transfer.loopConnection?.carrier === connection, !transfer.loopPauses.contains(.receiving) else {
        return (nil, isAlarmLate(turn))
      }
      if let socket, wait == nil, !hasReceived, transfer.loopDirectReads.begins {
        transfer.loopPauses.insert(.receiving)
        return ((connection, socket), isAlarmLate(turn))
      }
      transfer.loopConnection?.resumed()
      return (nil, isAlarmLate(turn))
    }
  }
#endif
