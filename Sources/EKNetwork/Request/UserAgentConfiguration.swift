import Foundation

/// The components of the `User-Agent` header.
public struct UserAgentConfiguration: Equatable, Sendable {
  /// The application's name.
  public let appName: String
  /// The application's version.
  public let appVersion: String
  /// The bundle identifier.
  public let bundleIdentifier: String
  /// The build number.
  public let buildNumber: String
  /// The version of the operating system; on Linux that of the kernel.
  public let osVersion: String
  /// The version of this library.
  public let networkVersion: String

  private let userAgent: String

  /// Creates a configuration with the given values.
  ///
  /// Values that are `nil` or blank come from `Bundle.main` and the system. Without a bundle, as in a command-line
  /// tool, the name and the identifier are those of the process, and the versions are `0`.
  public init(
    appName: String? = nil,
    appVersion: String? = nil,
    bundleIdentifier: String? = nil,
    buildNumber: String? = nil,
    osVersion: String? = nil,
    networkVersion: String? = nil
  ) {
    let defaults = UserAgentDefaults.current
    self.appName = Self.value(appName, or: defaults.appName)
    self.appVersion = Self.value(appVersion, or: defaults.appVersion)
    self.bundleIdentifier = Self.value(bundleIdentifier, or: defaults.bundleIdentifier)
    self.buildNumber = Self.value(buildNumber, or: defaults.buildNumber)
    self.osVersion = Self.value(osVersion, or: defaults.osVersion)
    self.networkVersion = Self.value(networkVersion, or: UserAgentDefaults.networkVersion)

    userAgent =
      UserAgentSyntax.product(self.appName) + "/" + UserAgentSyntax.product(self.appVersion)
      + " (" + UserAgentSyntax.comment(self.bundleIdentifier) + "; build:" + UserAgentSyntax.comment(self.buildNumber)
      + "; " + UserAgentDefaults.platform + " " + UserAgentSyntax.comment(self.osVersion)
      + ") EKNetwork/" + UserAgentSyntax.product(self.networkVersion)
  }

  /// Returns the header's value: `AppName/Version (BundleID; build:BuildNumber; Platform OSVersion) EKNetwork/Version`.
  ///
  /// Characters that RFC 9110 §10.1.5 does not allow, such as the letters of a non-Latin name, are percent-encoded, as
  /// in Foundation's own `User-Agent`. The value is built once, by the initializer.
  public func generateUserAgentString() -> String { userAgent }

  private static func value(_ given: String?, or fallback: String) -> String {
    guard let given, given.contains(where: { !$0.isWhitespace }) else { return fallback }
    return given
  }
}
