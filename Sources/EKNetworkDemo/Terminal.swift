import Foundation

/// Writes to standard output, in colour and in place only where that is a terminal that can do it.
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

  /// Shows a state in place of the last one; a terminal that cannot do that is spared it.
  func replaceLine(_ text: String) {
    if isInteractive { write("\r\u{1B}[2K" + text) }
  }

  func endReplacedLine(_ text: String) {
    write((isInteractive ? "\r\u{1B}[2K" : "") + text + "\n")
  }

  private func write(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }
}
