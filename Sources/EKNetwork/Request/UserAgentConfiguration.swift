import Foundation

/// What the `User-Agent` header is made of.
public struct UserAgentConfiguration {
  /// The header's value.
  public func generateUserAgentString() -> String { "" }
}
