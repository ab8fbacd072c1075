#if os(Linux)
  import Foundation

  /// The peak memory of the process during some work, less its memory before.
  enum PeakMemory {
    /// In bytes. The kernel keeps the peak, which is first reset to the current memory (proc(5)).
    static func during(_ work: () async throws -> Void) async throws -> Int {
      try "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .utf8)
      let before = try value("VmRSS:")
      try await work()
      return max(0, try value("VmHWM:") - before)
    }

    /// Prints the peak from the output of a test that ran in a separate process.
    static func report(_ name: String, _ output: [UInt8]?) {
      for line in String(decoding: output ?? [], as: UTF8.self).split(separator: "\n") where line.contains("KiB of") {
        print("peak memory, \(name): \(line)")
      }
    }

    private static func value(_ name: String) throws -> Int {
      for line in try String(contentsOfFile: "/proc/self/status", encoding: .utf8).split(separator: "\n")
      where line.hasPrefix(name) {
        return (line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap { Int($0) } ?? 0)
          << 10
      }
      throw CocoaError(.fileReadCorruptFile)
    }
  }
#endif
