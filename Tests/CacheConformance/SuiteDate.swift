import Foundation

/// Dates relative to the server's clock.
enum SuiteDate {
  private static let dateFields: Set<String> = [
    "date", "expires", "last-modified", "if-modified-since", "if-unmodified-since",
  ]
  private static let locationFields: Set<String> = ["location", "content-location"]

  /// Returns the expected value of a field: a number means seconds from the server's "now", and a location can be
  /// relative to the test's URL.
  static func value(of field: JSON, response: SuiteResponse, config: JSON) -> String? {
    guard let name = field[0]?.string?.lowercased() else { return nil }
    if dateFields.contains(name), let offset = field[1]?.number {
      guard let now = response.get("server-now").flatMap({ Double($0) }) else { return nil }
      return text(now / 1000 + offset)
    }
    guard var value = field[1]?.string else { return nil }
    if locationFields.contains(name), config["magic_locations"]?.isTrue == true {
      let base = response.get("server-base-url") ?? ""
      value = value.isEmpty ? base : "\(base)/\(value)"
    }
    return value
  }

  private static func text(_ seconds: Double) -> String {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(identifier: "GMT")
    formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
    return formatter.string(from: Date(timeIntervalSince1970: seconds.rounded(.down)))
  }
}
