import Foundation

extension [String: String] {
  /// The value of a header field, whatever the case of its name (RFC 9110 §5.1).
  func field(_ name: String) -> String? {
    self[name] ?? first { $0.key.caseInsensitiveCompare(name) == .orderedSame }?.value
  }
}
