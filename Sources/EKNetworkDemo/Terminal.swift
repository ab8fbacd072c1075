import Foundation

/// A writer to standard output, which uses colour and in-place updates only on a terminal that supports them.
struct Terminal: Sendable {
  enum Style: String {
    case bold = "1"
    case dim = "2"
    case red = "31"
    case green = "32"
    case yellow = "33"
    case cyan = "36"
  }

  let isInteractive: Bool
  private let hasColour: Bool

  init(environment: [String: String] = ProcessInfo.processInfo.environment) {
    isInteractive = isatty(1) == 1 && environment["TERM"] != "dumb"
    hasColour = isInteractive && environment["NO_COLOR"]?.isEmpty ?? true
  }

  func styled(_ text: String, _ styles: Style...) -> String {
    guard hasColour else { return text }
    return "\u{1B}[\(styles.map(\.rawValue).joined(separator: ";"))m\(text)\u{1B}[0m"
  }

  func line(_ text: String = "") { write(text + "\n") }

  /// Replaces the last line on a terminal that supports it; prints nothing elsewhere.
  func replaceLine(_ text: String) {
    if isInteractive { write("\r\u{1B}[2K" + text) }
  }

  func endReplacedLine(_ text: String) {
    write((isInteractive ? "\r\u{1B}[2K" : "") + text + "\n")
  }

  private func write(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }
}
