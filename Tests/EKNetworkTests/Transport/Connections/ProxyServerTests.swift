#if os(Linux)
  import Foundation
  import Testing

  @testable import EKNetwork

  struct ProxyServerTests {
    // MARK: - Exceptions

    private static let excepted: [(String, String)] = [
      ("example.com", "example.com"), ("example.com", "a.b.example.com"), (".example.com", "example.com"),
      (".example.com", "a.example.com"), ("Example.COM", "eXample.com"), ("example.com.", "example.com"),
      ("example.com", "a.example.com."), ("a,b", "b"), ("a b", "b"), (" a ,\tb ", "a"), ("*", "anything"), ("*", "::1"),
      ("10.0.0.1", "10.0.0.1"), ("10.0.0.0/8", "10.200.3.4"), ("10.0.0.0/9", "10.127.255.255"),
      ("0.0.0.0/0", "8.8.8.8"),
      ("10.0.0.1/32", "10.0.0.1"), ("::1", "::1"), ("[::1]", "::1"), ("2001:DB8::/32", "2001:db8:1::2"),
      ("2001:db8:0:0::1", "2001:db8::1"), ("fe80::/10", "fe80::1%eth0"), ("::/0", "2001:db8::1"),
    ]

    @Test(arguments: excepted) func isExcepted(_ text: String, _ host: String) {
      #expect(ProxyExceptions(text).contains(host))
    }

    private static let others: [(String, String)] = [
      ("", "example.com"), (",, ,", "example.com"), ("example.com", "notexample.com"),
      ("example.com", "example.com.evil"),
      ("a.example.com", "example.com"), (".", "example.com"), ("*.example.com", "a.example.com"), ("a,*", "b"),
      ("10.0.0.0/9", "10.128.0.0"), ("10.0.0.0/33", "10.0.0.0"), ("10.0.0.0/-1", "10.0.0.0"), ("10.0.0.0/", "10.0.0.0"),
      ("10.0.0.0/8/8", "10.0.0.0"), ("10.0.0", "10.0.0.1"), ("0.0.0.0/0", "::1"), ("::/0", "127.0.0.1"),
      ("2.3.4", "1.2.3.4"), ("::1", "::2"), ("\\0", "a"), ("10.0.0.0/8", "10.example.com"),
    ]

    @Test(arguments: others) func isNotExcepted(_ text: String, _ host: String) {
      #expect(!ProxyExceptions(text).contains(host))
    }

    // MARK: - The environment

    private func server(_ environment: [String: String], _ host: String = "h", isSecure: Bool = false) -> String? {
      EnvironmentProxies(environment).server(for: host, isSecure: isSecure)?.url
    }

    @Test func environmentIsReadAsByCurl() {
      #expect(server([:]) == nil)
      #expect(server(["http_proxy": "http://p"]) == "http://p")
      #expect(server(["http_proxy": "http://p"], isSecure: true) == nil)
      // In a CGI script that is a field of the request.
      #expect(server(["HTTP_PROXY": "http://evil"]) == nil)
      #expect(server(["HTTPS_PROXY": "http://p"], isSecure: true) == "http://p")
      #expect(server(["HTTPS_PROXY": "http://a", "https_proxy": "http://b"], isSecure: true) == "http://b")
      #expect(server(["ALL_PROXY": "socks5://p"]) == "socks5://p")
      #expect(server(["all_proxy": "socks5://p", "http_proxy": ""]) == "socks5://p")
      #expect(server(["http_proxy": "p", "no_proxy": "h"]) == nil)
      #expect(server(["http_proxy": "p", "NO_PROXY": "h"]) == nil)
      #expect(server(["http_proxy": "p", "no_proxy": "a", "NO_PROXY": "h"]) == "p")
    }

    // MARK: - Servers

    @Test func sessionDecidesForItself() throws {
      let proxies: SessionProxies? = SessionProxies([
        "HTTPEnable": 1, "HTTPProxy": "p", "HTTPPort": 1, "SOCKSEnable": 1, "SOCKSProxy": "s",
        "ExceptionsList": ["*.local"], "kCFProxyUsernameKey": "u",
      ])
      #expect(
        try proxies.server(for: "h", isSecure: false)
          == ProxyServer(url: "http://p:1", user: "u", password: ""))
      #expect(try proxies.server(for: "h", isSecure: true)?.forwards(isSecure: false) == false)
      #expect(try proxies.server(for: "a.local", isSecure: true) == nil)
      let none: SessionProxies? = SessionProxies([:])
      #expect(try none.server(for: "h", isSecure: false) == nil)
      #expect(try proxies.server(for: "h", isSecure: false, isDirect: true) == nil)
    }

    private static let servers: [(url: String, forwards: Bool, isSecure: Bool, credentials: String?)] = [
      ("p:3128", true, false, nil), ("http://p", true, false, nil), ("HTTPS://p/", true, true, nil),
      ("socks5h://u:p@p", false, false, "u:p"), ("http://u:p@p:1", true, false, "u:p"), ("u@p", true, false, "u:"),
      ("http://u%40a:p%3A:b@p/", true, false, "u@a:p::b"), ("http://u%zz:p@p", true, false, "u%zz:p"),
      ("http://:p@p", true, false, ":p"), ("http://p/@", true, false, nil), ("http://a@b@p", true, false, "a@b:"),
    ]

    @Test(arguments: servers)
    func serverIsDescribed(_ row: (url: String, forwards: Bool, isSecure: Bool, credentials: String?)) {
      let server = ProxyServer(url: row.url, user: nil, password: nil)
      #expect(server.forwards(isSecure: false) == row.forwards)
      #expect(!server.forwards(isSecure: true))
      #expect(server.isSecure == row.isSecure)
      #expect(server.authorization == row.credentials.map { "Basic " + Data($0.utf8).base64EncodedString() })
    }

    @Test func credentialsNeedNotBeUTF8() {
      let server = ProxyServer(url: "http://u:%FFa@p", user: nil, password: nil)
      #expect(server.authorization == "Basic " + Data([0x75, 0x3A, 0xFF, 0x61]).base64EncodedString())
    }

    @Test func credentialsOfTheSessionComeFirst() {
      let server = ProxyServer(url: "http://a:b@p", user: "u", password: "s%")
      #expect(server.authorization == "Basic " + Data("u:s%".utf8).base64EncodedString())
    }
  }
#endif
