import Testing

@testable import EKNetwork

struct UserAgentConfigurationTests {
  private func generate(appName: String? = "App", appVersion: String? = "2.1", bundle: String? = "com.example.app")
    -> String
  {
    UserAgentConfiguration(
      appName: appName, appVersion: appVersion, bundleIdentifier: bundle, buildNumber: "7", osVersion: "17.4",
      networkVersion: "1.2.3"
    ).generateUserAgentString()
  }

  @Test func hasTheDocumentedFormat() {
    let platform = UserAgentDefaults.platform
    #expect(generate() == "App/2.1 (com.example.app; build:7; \(platform) 17.4) EKNetwork/1.2.3")
    #expect(generate(appName: "My App") == "My App/2.1 (com.example.app; build:7; \(platform) 17.4) EKNetwork/1.2.3")
  }

  @Test func keepsGivenValues() {
    let configuration = UserAgentConfiguration(
      appName: "Приложение", appVersion: "1", bundleIdentifier: "b", buildNumber: "n", osVersion: "o",
      networkVersion: "v")
    #expect(configuration.appName == "Приложение")
    #expect(configuration.appVersion == "1")
    #expect(configuration.bundleIdentifier == "b")
    #expect(configuration.buildNumber == "n")
    #expect(configuration.osVersion == "o")
    #expect(configuration.networkVersion == "v")
  }

  @Test func defaultsAreNeverEmpty() {
    for configuration in [
      UserAgentConfiguration(),
      UserAgentConfiguration(
        appName: "", appVersion: " ", bundleIdentifier: "\n", buildNumber: "\t", osVersion: "", networkVersion: ""),
    ] {
      let values = [
        configuration.appName, configuration.appVersion, configuration.bundleIdentifier, configuration.buildNumber,
        configuration.osVersion, configuration.networkVersion,
      ]
      #expect(values.allSatisfy { !$0.isEmpty })
      #expect(configuration.networkVersion == UserAgentDefaults.networkVersion)
      #expect(configuration == UserAgentConfiguration())
    }
  }

  @Test(arguments: [
    ("Éa", "%C3%89a"), ("A/B", "A%2FB"), ("A(B)", "A%28B%29"), ("A\r\nX: 1", "A%0D%0AX%3A 1"), ("100%", "100%25"),
  ])
  func encodesInvalidProductCharacters(name: String, expected: String) {
    #expect(generate(appName: name).hasPrefix(expected + "/2.1 ("))
  }

  @Test(arguments: [
    ("a)b(c\\", "a%29b%28c%5C"), ("a;b", "a%3Bb"), ("é\0", "%C3%A9%00"), ("a/b:c \"d\"", "a/b:c \"d\""),
  ])
  func encodesInvalidCommentCharacters(bundle: String, expected: String) {
    #expect(generate(bundle: bundle).contains(" (\(expected); build:7;"))
  }

  @Test func randomNamesNeverMakeAnInvalidHeader() {
    var random = HostileStrings(seed: 4)
    for _ in 0..<2_000 {
      let name = random.next()
      let value = UserAgentConfiguration(
        appName: name, appVersion: name, bundleIdentifier: name, buildNumber: name, osVersion: name,
        networkVersion: name
      ).generateUserAgentString()
      #expect(value.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F })
      #expect(value.count { $0 == "(" } == 1 && value.count { $0 == ")" } == 1)
    }
  }
}
