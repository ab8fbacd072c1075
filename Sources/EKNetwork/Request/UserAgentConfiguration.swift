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
    appName: String? = nil, appVersion: String? = nil, bundleIdentifier: String? = nil, buildNumber: String? = nil,
    osVersion: String? = nil, networkVersion: String? = nil
  ) {
    let defaults = UserAgentDefaults.current
    self.appName = UserAgentDefaults.nonBlank(appName) ?? defaults.appName
    self.appVersion = UserAgentDefaults.nonBlank(appVersion) ?? defaults.appVersion
    self.bundleIdentifier = UserAgentDefaults.nonBlank(bundleIdentifier) ?? defaults.bundleIdentifier
    self.buildNumber = UserAgentDefaults.nonBlank(buildNumber) ?? defaults.buildNumber
    self.osVersion = UserAgentDefaults.nonBlank(osVersion) ?? defaults.osVersion
    self.networkVersion = UserAgentDefaults.nonBlank(networkVersion) ?? UserAgentDefaults.networkVersion

    func product(_ text: String) -> String { PercentEncoding.encoded(text, allowed: Self.product) }
    func comment(_ text: String) -> String { PercentEncoding.encoded(text, allowed: Self.comment) }
    userAgent =
      "\(product(self.appName))/\(product(self.appVersion))"
      + " (\(comment(self.bundleIdentifier)); build:\(comment(self.buildNumber));"
      + " \(UserAgentDefaults.platform) \(comment(self.osVersion))) EKNetwork/\(product(self.networkVersion))"
  }

  /// A product name (RFC 9110 §10.1.5) may contain a space, which makes it two products, as in `My App/1.0`. A bare `%` would
  /// make the encoded characters ambiguous.
  private static let product = ByteSet.alphanumerics(and: " !#$&'*+-.^_`|~")
  /// `ctext` (RFC 9110 §5.6.5) without the `;` that separates the comment's parts, and without `%`.
  private static let comment = ByteSet.alphanumerics(and: " !#$&'*+-.^_`|~,:/<=>?@[]{}\"")

  /// Returns the header's value: `AppName/Version (BundleID; build:BuildNumber; Platform OSVersion) EKNetwork/Version`.
  ///
  /// Characters that RFC 9110 §10.1.5 does not allow, such as the letters of a non-Latin name, are percent-encoded, as
  /// in Foundation's own `User-Agent`. The value is built once, by the initializer.
  public func generateUserAgentString() -> String { userAgent }
}

/// The properties of the application and the system. Read once; none of them changes during the life of a process.
struct UserAgentDefaults: Sendable {
  /// The version of this library.
  static let networkVersion = "0.1.0"

  static var platform: String {
    #if os(iOS)
      "iOS"
    #elseif os(macOS)
      "macOS"
    #elseif os(tvOS)
      "tvOS"
    #elseif os(watchOS)
      "watchOS"
    #elseif os(visionOS)
      "visionOS"
    #elseif os(Linux)
      "Linux"
    #else
      "Unknown"
    #endif
  }

  static let current = UserAgentDefaults()

  let appName: String
  let appVersion: String
  let bundleIdentifier: String
  let buildNumber: String
  let osVersion: String

  private init() {
    let processName = Self.nonBlank(ProcessInfo.processInfo.processName) ?? "Application"
    appName = Self.bundleValue("CFBundleName") ?? processName
    appVersion = Self.bundleValue("CFBundleShortVersionString") ?? "0"
    bundleIdentifier = Self.nonBlank(Bundle.main.bundleIdentifier) ?? processName
    buildNumber = Self.bundleValue("CFBundleVersion") ?? "0"
    let version = ProcessInfo.processInfo.operatingSystemVersion
    osVersion = "\(version.majorVersion).\(version.minorVersion).\(version.patchVersion)"
  }

  private static func bundleValue(_ key: String) -> String? {
    nonBlank(Bundle.main.object(forInfoDictionaryKey: key) as? String)
  }

  static func nonBlank(_ string: String?) -> String? {
    guard let string, string.contains(where: { !$0.isWhitespace }) else { return nil }
    return string
  }
}
