import Foundation
import Testing

@testable import EKNetwork

struct SessionProxiesTests {
  @Test func incompleteSettingsEnableNoProxy() {
    for dictionary: [AnyHashable: Any] in [
      [:], ["HTTPProxy": "a", "HTTPPort": 1], ["HTTPEnable": 0, "HTTPProxy": "a"], ["HTTPEnable": 1],
      ["HTTPEnable": 1, "HTTPProxy": ""], ["HTTPEnable": "yes", "HTTPProxy": "a"], ["HTTPEnable": 1, "HTTPProxy": 7],
    ] {
      let proxies = SessionProxies(dictionary)
      #expect(proxies.plain == nil && proxies.secure == nil && proxies.exceptions == "" && proxies.user == nil)
    }
  }

  @Test func eachSchemeHasItsOwnProxy() {
    let proxies = SessionProxies([
      "HTTPEnable": true, "HTTPProxy": "a.example", "HTTPPort": 8080,
      "HTTPSEnable": NSNumber(value: 1), "HTTPSProxy": "::1", "HTTPSPort": NSNumber(value: 8443),
      "SOCKSEnable": 1, "SOCKSProxy": "s.example",
      "ExceptionsList": ["*.local", "example.com", "10.0.0.0/8"],
      "kCFProxyUsernameKey": "u", "kCFProxyPasswordKey": "p",
    ])
    #expect(proxies.plain == "http://a.example:8080")
    #expect(proxies.secure == "http://[::1]:8443")
    #expect(proxies.exceptions == ".local,example.com,10.0.0.0/8")
    #expect(proxies.user == "u" && proxies.password == "p")
  }

  @Test func socksIsTheFallbackProxy() {
    let proxies = SessionProxies(["SOCKSEnable": 1, "SOCKSProxy": "s.example", "SOCKSPort": 0, "HTTPEnable": 0])
    #expect(proxies.plain == "socks5h://s.example:1080")
    #expect(proxies.secure == proxies.plain)
  }
}
