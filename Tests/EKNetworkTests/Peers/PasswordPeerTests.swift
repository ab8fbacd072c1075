#if os(Linux)
  import Foundation
  import FoundationNetworking
  import Testing

  @testable import EKNetwork

  /// Passwords, with httpbin.
  @Suite("Password peers", .serialized, .timeLimit(.minutes(5)), .enabled(if: PeerProcess.has("httpbin")))
  struct PasswordPeerTests {
    private struct Answer: Decodable, Equatable {
      var authenticated: Bool
      var user: String
    }

    private struct Get: NetworkRequest {
      typealias Response = Answer
      var path: String
      var method = HTTPMethod.get
      var credential: PasswordCredential?
    }

    private let peer: PeerProcess

    init() throws { peer = try PeerProcess.shared("passwords.py") }

    private func manager(_ wire: Wire = .automatic, user: String = "") throws -> NetworkManager {
      let url = try peer.url("good", scheme: "http", path: "").absoluteString
      return wire.manager(try #require(URL(string: url.replacing("//", with: "//" + user))))
    }

    @Test(
      "Digest is answered", arguments: ["auth", "none"], ["MD5", "SHA-256"])
    func digest(quality: String, algorithm: String) async throws {
      let credential = PasswordCredential(user: "ann", password: "b")
      for wire in Wire.allCases {
        let manager = try manager(wire)
        let request = Get(path: "/digest-auth/\(quality)/ann/b/\(algorithm)/never", credential: credential)
        for _ in 0..<3 { #expect(try await manager.send(request) == Answer(authenticated: true, user: "ann")) }
      }
    }

    @Test("A nonce that is too old is replaced, and a server that has none that is new enough refuses")
    func stale() async throws {
      let credential = PasswordCredential(user: "ann", password: "b")
      let manager = try manager()
      for _ in 0..<5 {
        let request = Get(path: "/digest-auth/auth/ann/b/SHA-256/1", credential: credential)
        #expect(try await manager.send(request).authenticated)
      }
      let request = Get(path: "/digest-auth/auth/ann/b/SHA-256/0", credential: credential)
      await #expect(throws: NetworkError.unauthorized) { try await manager.send(request) }
    }

    @Test("The user of the URL answers as well")
    func userOfURL() async throws {
      let manager = try manager(user: "ann:b@")
      #expect(try await manager.send(Get(path: "/digest-auth/auth/ann/b/MD5/never")).authenticated)
      #expect(try await manager.send(Get(path: "/digest-auth/auth/ann/b/MD5/never")).authenticated)
    }

    @Test("Another password is refused", arguments: ["/digest-auth/auth/ann/b/MD5/never", "/basic-auth/ann/b"])
    func wrong(path: String) async throws {
      let request = Get(path: path, credential: PasswordCredential(user: "ann", password: "c"))
      await #expect(throws: NetworkError.unauthorized) { try await manager().send(request) }
    }

    @Test("Basic is answered")
    func basic() async throws {
      let credential = PasswordCredential(user: "ann", password: "b")
      #expect(try await manager().send(Get(path: "/basic-auth/ann/b", credential: credential)).authenticated)
    }

    @Test("An algorithm that is not supported leaves the challenge as the response")
    func unknownAlgorithm() async throws {
      let request = Get(
        path: "/digest-auth/auth/ann/b/SHA-512/never", credential: PasswordCredential(user: "ann", password: "b"))
      await #expect(throws: NetworkError.unauthorized) { try await manager().send(request) }
    }
  }
#endif
