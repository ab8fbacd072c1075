import EKNetwork

extension Terminal {
  /// Prints a progress until it is complete: in place on a terminal, otherwise a line for each quarter.
  func follow(_ progress: NetworkProgress) -> Task<Void, Never> {
    Task {
      var shown = 0
      for await fraction in progress.$fractionCompleted.values {
        if isInteractive {
          replaceLine("  " + Self.bar(progress))
        } else if Int(fraction * 4) > shown {
          shown = Int(fraction * 4)
          line("  " + Self.bar(progress))
        }
        if fraction >= 1 { break }
      }
      if isInteractive { endReplacedLine("  " + Self.bar(progress)) }
    }
  }

  private static func bar(_ progress: NetworkProgress) -> String {
    let width = 40
    let fraction = progress.fractionCompleted
    let full = Int(fraction * Double(width))
    let rate = progress.bytesPerSecond.map { ", \(Int($0 / 1e6)) MB/s" } ?? ""
    return "[" + String(repeating: "█", count: full) + String(repeating: "·", count: width - full)
      + "] \(Int(fraction * 100)) %, \(progress.completedBytes / 1_048_576) MiB" + rate
  }
}
