import EKNetwork
import HTTPTypes
import Hummingbird
import Testing

@testable import Recipes

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite struct AWSSignerTests {
  private struct Vector: Decodable {
    let service, method, url: String
    let fields: [String: String]
    let body: String
    let token: String?
    let authorization: String
  }

  private func signer(_ service: String, token: String? = nil) -> AWSSigner {
    let credentials = AWSSigner.Credentials(
      accessKeyID: "AKIDEXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", sessionToken: token)
    // 2015-08-30T12:36:00Z
    return AWSSigner(
      credentials: { credentials }, region: "us-east-1", service: service,
      now: { Date(timeIntervalSince1970: 1_440_938_160) })
  }

  /// The first vector is published by Amazon (`get-vanilla` in its test suite); vectors.py generated the others.
  @Test func signaturesAreThoseOfAmazon() async throws {
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "vectors.json")
    let vectors = try JSONDecoder().decode([Vector].self, from: Data(contentsOf: file))
    #expect(vectors.count == 12)
    #expect(
      vectors.first?.authorization.hasSuffix("5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31") == true
    )
    for vector in vectors {
      var request = URLRequest(url: try #require(URL(string: vector.url)))
      request.httpMethod = vector.method
      for (name, value) in vector.fields { request.setValue(value, forHTTPHeaderField: name) }
      if !vector.body.isEmpty { request.httpBody = Data(vector.body.utf8) }
      let signer = signer(vector.service, token: vector.token)
      let signed = try signer.sign(request, with: try await signer.credentials())
      #expect(
        signed.value(forHTTPHeaderField: "Authorization") == vector.authorization, "\(vector.method) \(vector.url)")
    }
  }

  @Test func eachAttemptIsSignedAndNoOtherOrigin() async throws {
    let fields = Book<String?>()
    let other = Router()
    other.get("ping") { request, _ in
      await fields.add(request.headers[.authorization])
      return HTTPResponse.Status.ok
    }
    let signer = signer("execute-api")
    try await withServer(other) { elsewhere in
      let router = Router()
      router.get("ping") { request, _ in
        await fields.add(request.headers[.authorization])
        return await fields.entries.count < 2
          ? Response(status: .serviceUnavailable)
          : Response(status: .found, headers: [.location: elsewhere.appending(path: "ping").absoluteString])
      }
      try await withServer(router) { url in
        let manager = NetworkManager(baseURL: url)
        manager.attemptMiddleware = [signer]
        _ = try await manager.send(Ping(retryPolicy: RetryPolicy(maxRetryCount: 1, delay: 0)))
      }
    }
    let seen = await fields.entries
    #expect(seen.count == 3)
    #expect(seen.prefix(2).allSatisfy { $0?.hasPrefix("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/") == true })
    #expect(seen.last == .some(nil))
  }

  @Test func aStreamIsForS3Alone() throws {
    var request = URLRequest(url: try #require(URL(string: "https://bucket.s3.amazonaws.com/file")))
    request.httpBodyStream = InputStream(data: Data([1]))
    let credentials = AWSSigner.Credentials(accessKeyID: "a", secretAccessKey: "b")
    let signed = try signer("s3").sign(request, with: credentials)
    #expect(signed.value(forHTTPHeaderField: "X-Amz-Content-Sha256") == "UNSIGNED-PAYLOAD")
    #expect(throws: URLError.self) { try signer("sqs").sign(request, with: credentials) }
  }
}

@MainActor @Suite struct UserModelTests {
  @Test func aModelShowsWhatItHasLoaded() async throws {
    let router = Router()
    router.get("users/:id") { _, context in
      UserProxy.User(id: try context.parameters.require("id", as: Int.self), name: "Ada")
    }
    let isLoaded = try await withServer(router) { url in
      let model = await UserModel(manager: NetworkManager(baseURL: url))
      await model.load(3)
      return await MainActor.run { if case .loaded(let user) = model.state { user.name == "Ada" } else { false } }
    }
    #expect(isLoaded)
  }

  @Test func aModelIsIdleWhenItsScreenHasGone() async throws {
    let router = Router()
    let arrived = Book<Int>()
    router.get("users/:id") { _, _ -> HTTPResponse.Status in
      await arrived.add(1)
      try await Task.sleep(for: .seconds(600))
      return .ok
    }
    let isIdle = try await withServer(router) { url in
      let model = await UserModel(manager: NetworkManager(baseURL: url))
      let loading = Task { await model.load(3) }
      while await arrived.entries.isEmpty { await Task.yield() }
      loading.cancel()
      await loading.value
      return await MainActor.run { if case .idle = model.state { true } else { false } }
    }
    #expect(isIdle)
  }
}
