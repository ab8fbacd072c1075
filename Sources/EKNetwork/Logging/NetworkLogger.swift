#if canImport(os)
  import os
#endif

/// Sends log entries to the system log on Apple platforms, and to the user's handler, if there is one.
///
/// No entry is created while there is no listener.
struct NetworkLogger: Sendable {
  private struct State {
    var handler: NetworkLogHandler?
    var lastRequest: UInt64 = 0
  }

  private let state = Locked(State())
  #if canImport(os)
    private let systemLog: SystemLog

    /// Sendable, unchecked: an `OSLog` never changes, and its functions may be called on any thread.
    private struct SystemLog: @unchecked Sendable {
      let log: OSLog
    }
  #endif

  init(subsystem: String, category: String = "network") {
    #if canImport(os)
      systemLog = SystemLog(log: OSLog(subsystem: subsystem, category: category))
    #endif
  }

  /// The user's handler. Copies of the logger share it.
  var handler: NetworkLogHandler? {
    get { state.withLock { $0.handler } }
    nonmutating set {
      // The old handler is released outside of the lock: it may own anything.
      let old = state.withLock { state in
        defer { state.handler = newValue }
        return state.handler
      }
      _ = old
    }
  }

  /// Whether there may be a listener.
  var hasListeners: Bool {
    #if canImport(os)
      handler != nil || systemLog.log.isEnabled(type: .error)
    #else
      handler != nil
    #endif
  }

  /// Returns a number that distinguishes the entries of concurrent requests.
  func nextRequest() -> UInt64 {
    state.withLock { state in
      state.lastRequest += 1
      return state.lastRequest
    }
  }

  func log(
    _ level: NetworkLogEntry.Level,
    _ message: @autoclosure () -> String,
    _ metadata: @autoclosure () -> [String: String] = [:]
  ) {
    let handler = handler
    #if canImport(os)
      let isSystemLogEnabled = systemLog.log.isEnabled(type: OSLogType(rawValue: level.systemLogNumber))
    #else
      let isSystemLogEnabled = false
    #endif
    guard handler != nil || isSystemLogEnabled else { return }

    let entry = NetworkLogEntry(level: level, message: message(), metadata: metadata())
    handler?(entry)
    #if canImport(os)
      if isSystemLogEnabled {
        // Public, because everything private was left out when the entry was created.
        Logger(systemLog.log).log(level: OSLogType(rawValue: level.systemLogNumber), "\(entry.line, privacy: .public)")
      }
    #endif
  }
}

extension NetworkLogEntry {
  /// The entry in one line, its metadata in a stable order.
  var line: String {
    metadata.sorted { $0.key < $1.key }.reduce(into: message) { $0 += " \($1.key)=\($1.value)" }
  }
}

extension NetworkLogEntry.Level {
  /// The raw value of the `OSLogType`, as defined in `os/log.h`.
  var systemLogNumber: UInt8 {
    switch self {
    case .debug: 0x02
    case .info: 0x01
    case .error: 0x10
    }
  }
}
