#if os(Linux)
  import Foundation
  import FoundationNetworking
  import Testing

  @testable import EKNetwork

  /// Handshakes with a server that we did not write (Python's `ssl`), which the machine has no reason to trust.
  @Suite("TLS peers", .serialized, .timeLimit(.minutes(2)), .enabled(if: PeerProcess.python != nil))
  struct TLSPeerTests {
    private let peer: PeerProcess
    private let transport: any Transport

    init() throws {
      peer = try PeerProcess("tls.py")
      transport = TransportSelection.transport(for: URLSession(configuration: .ephemeral))
    }

    private func code(_ url: URL) async throws -> URLError.Code? {
      do {
        _ = try await transport.fetch(TransportRequest(URLRequest(url: url)))
        Issue.record("An answer came from \(url)")
        return nil
      } catch let error as URLError {
        #expect(error.userInfo[NSURLErrorFailingURLErrorKey] as? URL == url)
        return error.code
      }
    }

    @Test(
      "A certificate that nothing trusts",
      arguments: [
        ("good", URLError.Code.serverCertificateHasUnknownRoot),
        ("unknown-root", .serverCertificateHasUnknownRoot),
        ("self-signed", .serverCertificateUntrusted),
      ])
    func untrusted(name: String, expected: URLError.Code) async throws {
      #expect(try await code(peer.url(name)) == expected)
    }

    @Test("The server cuts the handshake, or does not speak TLS", arguments: ["cut", "plain"])
    func brokenHandshake(name: String) async throws {
      #expect(try await code(peer.url(name)) == .secureConnectionFailed)
    }

    @Test("Plain HTTP to a TLS port")
    func plainToTLS() async throws {
      let code = try await self.code(peer.url("good", scheme: "http"))
      // The server sends an alert before it closes, or only closes.
      #expect(code == .badServerResponse || code == .networkConnectionLost)
    }
  }
#endif
