import LoopbackServer
import Testing

@testable import EKNetwork

struct HostSyntaxTests {
  private static let delimiters = [
    "%2F", "%3F", "%23", "%40", "%5C", "%00", "%3A80", "%25", "%20", "%7C", "%0A", "%5B",
  ]

  @Test(arguments: [
    "example.com", "127.0.0.1", "::1", "fe80::1%eth0", "xn--bcher-kva.example", "a_b.c", "bücher.example",
  ])
  func acceptsValidHosts(_ host: String) { #expect(HostSyntax.isValid(host)) }

  @Test(arguments: [
    "", "a/b", "a?b", "a#b", "a@b", "a\\b", "a\0b", "a:80", "a b", "a%62", "a|b", "a\u{7F}b", "a<b", "1::2::3", "::1%",
    "::1%a/b", "::1\0", "a\u{FF0F}b", "a\u{FF20}b", "127.0.0.1:9/x",
  ])
  func refusesInvalidHosts(_ host: String) { #expect(!HostSyntax.isValid(host)) }

  /// WHATWG URL §3.5: what ends in a number.
  @Test(arguments: [
    ("127.0.0.1", true), ("127.1", true), ("2130706433", true), ("0x7f.0.0.1", true), ("0X7F.1", true),
    ("0177.0.0.1", true),
    ("1.2.3.4.", true), ("999.999.999.999", true), ("a.b.1", true), ("a.0x", true), ("a.09", true), ("::1", true),
    ("fe80::1%eth0", true), ("１２７.０.０.１", true), ("127。0。0。1", true),
    ("example.com", false), ("1.example", false), ("1.2.3.a4", false), ("a.0xg", false), ("a.1x", false),
    ("a..", false),
    ("", false), (".", false), ("localhost", false), ("3com", false), ("a.x1", false), ("a.0b1", false),
  ])
  func addressesAreRecognised(_ host: String, _ isAddress: Bool) { #expect(HostSyntax.isAddress(host) == isAddress) }

  /// Each URL begins with the address of the test's server: a misled client would connect there.
  @Test(arguments: delimiters)
  func encodedDelimiterReachesNoOtherHost(_ delimiter: String) async throws {
    let server = try LoopbackServer()
    server.route("/") { .webSocketEcho($0) }
    server.fallback = { _ in .text("reached") }
    let authority = "127.0.0.1:\(server.port)\(delimiter).trusted.com:\(server.port)"
    for text in [authority, "127.0.0.1\(delimiter).trusted.com:\(server.port)"] {
      // A URL that Foundation's parser refuses misleads no client.
      guard let socketURL = URL(string: "ws://\(text)/"), socketURL.host != nil else { continue }
      await #expect(throws: WebSocketError.invalidURL) { _ = try await WebSocket.connect(to: socketURL) }
      guard let url = URL(string: "http://\(text)/") else { continue }
      for wire in Wire.allCases {
        await #expect(throws: (any Error).self) {
          _ = try await wire.transport().fetch(TransportRequest(URLRequest(url: url)))
        }
      }
    }
    #expect(server.acceptedConnections == 0)
    server.stop()
  }

  #if os(Linux)
    private struct Endpoint: PrismNetworkSocketEndpoint {
      let host: NWEndpoint.Host
      let number: UInt16
      var port: NWEndpoint.Port { NWEndpoint.Port(integerLiteral: number) }
      var parameters: NWParameters { .tcp }
    }

    @Test(arguments: [
      "127.0.0.1/.trusted.com", "127.0.0.1?.trusted.com", "127.0.0.1#a", "a@127.0.0.1", "127.0.0.1\0.a",
    ])
    func socketRefusesHostWithDelimiter(_ host: String) async throws {
      let server = try LoopbackServer()
      let socket = PrismNetworkSocketAdapter()
      await #expect(throws: PrismNetworkError.invalidURL) {
        _ = try await socket.connect(to: Endpoint(host: NWEndpoint.Host(host), number: UInt16(server.port)))
      }
      #expect(server.acceptedConnections == 0)
      server.stop()
    }
  #endif
}
