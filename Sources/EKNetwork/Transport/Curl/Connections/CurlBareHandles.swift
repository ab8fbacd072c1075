#if os(Linux)
  import CCurl
  import Foundation

  /// The libcurl handles of one bare connection. They belong to the loop's thread until they are closed.
  ///
  /// Unchecked: `close` is called once, by the last user.
  final class CurlBareHandles: @unchecked Sendable {
    let easy: OpaquePointer
    let multi: OpaquePointer
    let errorText: UnsafeMutablePointer<CChar>
    let lookup: UnsafeMutablePointer<ekn_lookup>
    private let joinsResolver: Bool

    /// Returns `nil` if there is not enough memory.
    init?(joinsResolver: Bool) {
      guard let easy = ekn_easy_init() else { return nil }
      guard let multi = ekn_multi_init() else {
        ekn_easy_cleanup(easy)
        return nil
      }
      self.easy = easy
      self.multi = multi
      self.joinsResolver = joinsResolver
      errorText = .allocate(capacity: Int(EKN_ERROR_SIZE))
      errorText.initialize(repeating: 0, count: Int(EKN_ERROR_SIZE))
      lookup = .allocate(capacity: 1)
      lookup.initialize(to: ekn_lookup())
    }

    deinit {
      errorText.deallocate()
      lookup.deallocate()
    }

    /// Closes the connection. If libcurl would block until a name is resolved, a separate thread does it, on which
    /// nothing may be called back: the transport may be gone by then.
    func close() {
      guard joinsResolver, lookup.pointee.is_running,
        ekn_multi_set_socket_callback(multi, nil, nil) == 0, ekn_multi_set_timer_callback(multi, nil, nil) == 0,
        ekn_easy_set_progress_callback(easy, nil, nil) == 0
      else { return destroy() }
      let thread = Thread { self.destroy() }
      thread.name = "EKNetwork.Closing"
      thread.stackSize = 1 << 18
      thread.start()
    }

    private func destroy() {
      _ = ekn_multi_remove(multi, easy)
      ekn_easy_cleanup(easy)
      ekn_multi_cleanup(multi)
    }
  }
#endif
