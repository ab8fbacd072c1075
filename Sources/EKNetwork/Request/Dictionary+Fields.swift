import Foundation

extension [String: String] {
  /// Returns the value of a header field; names are case-insensitive (RFC 9110 §5.1).
  func field(_ name: String) -> String? {
    self[name] ?? first { $0.key.caseInsensitiveCompare(name) == .orderedSame }?.value
  }
}
