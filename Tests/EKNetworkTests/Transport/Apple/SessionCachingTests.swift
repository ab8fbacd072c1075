import Foundation
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("Caching by a system session")
struct SessionCachingTests {
  private func policy(_ configuration: URLSessionConfiguration) throws -> URLRequest.CachePolicy {
    var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1/")))
    SessionCaching(configuration).apply(to: &request)
    return request.cachePolicy
  }

  @Test("Without an explicit configuration, the local cache is ignored")
  func off() throws {
    #expect(try policy(.default) == .reloadIgnoringLocalCacheData)
    #expect(try policy(.ephemeral) == .reloadIgnoringLocalCacheData)
    #expect(try policy(URLSession.shared.configuration) == .reloadIgnoringLocalCacheData)
    let none = URLSessionConfiguration.default
    none.urlCache = nil
    #expect(try policy(none) == .reloadIgnoringLocalCacheData)
  }

  @Test("A session with its own cache or policy uses caching")
  func wanted() throws {
    let own = URLSessionConfiguration.default
    own.urlCache = URLCache(memoryCapacity: 1_000_000, diskCapacity: 0, diskPath: nil)
    #expect(try policy(own) == .useProtocolCachePolicy)
    let policied = URLSessionConfiguration.default
    policied.requestCachePolicy = .returnCacheDataElseLoad
    #expect(SessionCaching(policied).isWanted)
  }

  @Test("A request's own policy is kept")
  func requestDecides() throws {
    var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1/")))
    request.cachePolicy = .returnCacheDataElseLoad
    SessionCaching(.default).apply(to: &request)
    #expect(request.cachePolicy == .returnCacheDataElseLoad)
  }
}

@Suite("A session that rejects a server's public key")
struct SessionRefusalTests {
  private func error(_ error: any Error, refusesKeys: Bool) async throws -> URLError? {
    let request = URLRequest(url: try #require(URL(string: "https://127.0.0.1/")))
    let taskResponse = TaskResponseStream(
      TransportRequest(request), idleTimeout: nil, limit: 1, overflow: .suspend, queue: DispatchQueue(label: "test"))
    let task = SessionTask(taskResponse: taskResponse, cookies: nil, addedFields: [], refusesKeys: refusesKeys)
    task.didComplete(error, response: nil)
    return await #expect(throws: URLError.self) { try await taskResponse.head() }
  }

  @Test("With key pinning, a cancelled task is an untrusted certificate; other errors are kept")
  func refusal() async throws {
    #expect(try await error(URLError(.cancelled), refusesKeys: true)?.code == .serverCertificateUntrusted)
    #expect(try await error(URLError(.cancelled), refusesKeys: false)?.code == .cancelled)
    #expect(try await error(URLError(.timedOut), refusesKeys: true)?.code == .timedOut)
  }
}
