#if os(Linux)
  import Foundation

  /// How many event loops a process has.
  enum LoopCount {
    /// The name of the environment's variable that says it.
    static let variable = "EKNETWORK_EVENT_LOOPS"
    private static let maximum = 64
    private static let maximumByDefault = 8

    static let ofProcess = count(
      setting: ProcessInfo.processInfo.environment[variable], processors: ProcessInfo.processInfo.activeProcessorCount)

    /// - Parameter setting: What the environment says. Whatever is no number from 1 to 64 says nothing.
    static func count(setting: String?, processors: Int) -> Int {
      if let setting, let count = Int(setting), (1...maximum).contains(count) { return count }
      return min(max(1, processors), maximumByDefault)
    }
  }
#endif
