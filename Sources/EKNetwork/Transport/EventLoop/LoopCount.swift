#if os(Linux)
  import Foundation

  /// The number of event loops of a process.
  enum LoopCount {
    /// The environment variable that sets the number.
    static let variable = "EKNETWORK_EVENT_LOOPS"
    private static let maximum = 64
    private static let maximumByDefault = 8

    static let ofProcess = count(
      setting: ProcessInfo.processInfo.environment[variable], processors: ProcessInfo.processInfo.activeProcessorCount)

    /// - Parameter setting: The value of the environment variable. Anything but a number from 1 to 64 is ignored.
    static func count(setting: String?, processors: Int) -> Int {
      if let setting, let count = Int(setting), (1...maximum).contains(count) { return count }
      return min(max(1, processors), maximumByDefault)
    }
  }
#endif
