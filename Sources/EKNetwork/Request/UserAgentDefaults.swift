import Foundation

/// The properties of the application and the system. Read once; none of them changes during the life of a process.
struct UserAgentDefaults: Sendable {
  /// The version of this library.
  static let networkVersion = "0.1.0"

  /// The name of the operating system.
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

  /// The defaults of this process.
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

  private static func nonBlank(_ string: String?) -> String? {
    guard let string, string.contains(where: { !$0.isWhitespace }) else { return nil }
    return string
  }
}
