import Foundation

extension CookieDate {
  static func parse(_ text: String) -> Date? { seconds(text).map { Date(timeIntervalSince1970: $0) } }
}
