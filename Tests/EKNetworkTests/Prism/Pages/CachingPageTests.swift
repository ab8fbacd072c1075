import EKNetwork
import LoopbackServer
import Testing

/// The code blocks of "Caching & Retry" as printed, except where a comment says otherwise. The hosts are rerouted to
/// the server of the test.
struct CachingPageTests {
  typealias User = ClientPageTests.User
  typealias PrismNetworkAdapter = LoopbackClient

  private let alice = User(id: "42", name: "Alice", email: "alice@example.com")

  @Test func basicCacheUsage() async throws {
    let responseData = try JSONEncoder().encode([alice])
    let cache = PrismResponseCache(maxSize: 100)

    // Store a response
    let entry = PrismCacheEntry(
      data: responseData,
      statusCode: 200,
      headers: ["Content-Type": "application/json"],
      ttl: .seconds(300)  // 5 minutes
    )
    await cache.set("users:list", entry: entry)

    // Retrieve from cache
    if let cached = await cache.get("users:list") {
      let users = try JSONDecoder().decode([User].self, from: cached.data)
      #expect(users == [alice])
    } else {
      Issue.record("nothing stored")
    }

    // Always fresh data
    let fresh = await cache.get("users:list", policy: .networkOnly)

    // Prefer cache, fallback to network
    let fast = await cache.get("users:list", policy: .cacheFirst)

    // Instant stale data + background refresh
    let optimistic = await cache.get("users:list", policy: .staleWhileRevalidate)

    #expect(fresh == nil && fast == entry && optimistic == entry)
  }

  @Test func cacheEntryProperties() {
    let data = Data("a".utf8)
    let entry = PrismCacheEntry(
      data: data,
      statusCode: 200,
      headers: ["ETag": "abc123"],
      cachedAt: Date(),
      ttl: .seconds(600)  // 10 minutes
    )

    #expect(!entry.isExpired)  // true if cachedAt + ttl < now
    #expect(entry.headers["ETag"] == "abc123" && entry.ttl == .seconds(600))
  }

  @Test func retryPolicies() {
    let policy = PrismExponentialBackoff(
      baseDelay: .seconds(1),  // first retry after ~1s
      maxDelay: .seconds(30),  // cap at 30s
      maxAttempts: 3  // give up after 3 retries
    )
    let linear = PrismLinearRetry(
      fixedDelay: .seconds(2),
      maxAttempts: 5
    )
    // Attempt 0: ~1s delay
    #expect(policy.delay(for: 0) >= .seconds(1) && policy.delay(for: 0) <= .milliseconds(1_500))
    // Attempt 3: gives up
    #expect(!policy.shouldRetry(for: PrismNetworkError.serverError, attempt: 3))
    // Every retry waits exactly 2 seconds
    #expect((0...4).allSatisfy { linear.delay(for: $0) == .seconds(2) })
  }

  struct SmartRetryPolicy: PrismRetryPolicy {
    func shouldRetry(for error: Error, attempt: Int) -> Bool {
      guard attempt < 3 else { return false }

      // Only retry network errors, not client errors
      if let networkError = error as? PrismNetworkError {
        switch networkError {
        case .noConnectivity, .serverError:
          return true
        case .unauthorized, .forbidden, .badRequest:
          return false
        default:
          return false
        }
      }
      return false
    }

    func delay(for attempt: Int) -> Duration {
      switch attempt {
      case 0: return .seconds(1)
      case 1: return .seconds(3)
      default: return .seconds(10)
      }
    }
  }

  @Test func customPolicyDecides() {
    let policy = SmartRetryPolicy()
    #expect(policy.shouldRetry(for: PrismNetworkError.noConnectivity, attempt: 2))
    #expect(!policy.shouldRetry(for: PrismNetworkError.noConnectivity, attempt: 3))
    #expect(!policy.shouldRetry(for: PrismNetworkError.forbidden, attempt: 0))
  }

  struct ResilientClient {
    let adapter = PrismNetworkAdapter()
    let cache = PrismResponseCache(maxSize: 200)
    // The page has `PrismExponentialBackoff(maxAttempts: 3)`; a test does not wait for seconds.
    let retryPolicy = PrismExponentialBackoff(maxDelay: .zero, maxAttempts: 3)

    // The page has `fetch<T: Decodable & Sendable>(key: String, request: some PrismNetworkRequest) async throws -> T
    // where T == request.Response`, which is invalid Swift: a parameter is not a type. The response must be Encodable.
    func fetch<Request: PrismNetworkRequest>(
      key: String,
      request: Request
    ) async throws -> Request.Response where Request.Response: Encodable {
      // Check cache first
      if let cached = await cache.get(key) {
        if let decoded = try? JSONDecoder().decode(Request.Response.self, from: cached.data) {
          return decoded
        }
      }

      // Retry with backoff
      var lastError: Error?
      for attempt in 0...retryPolicy.maxAttempts {
        do {
          let result = try await adapter.request(on: request)

          // Cache the response
          let data = try JSONEncoder().encode(result)
          let entry = PrismCacheEntry(data: data, ttl: .seconds(300))
          await cache.set(key, entry: entry)

          return result
        } catch {
          lastError = error
          guard retryPolicy.shouldRetry(for: error, attempt: attempt) else { break }
          try await Task.sleep(for: retryPolicy.delay(for: attempt))
        }
      }
      throw lastError ?? PrismNetworkError.invalidResponse
    }
  }

  @Test func resilientClient() async throws {
    let server = try LoopbackServer()
    server.route("/v1/users/42", .status(503), .status(500), .json(alice))
    server.route("/v1/users/43") { _ in .status(503) }
    server.route("/v1/users/44") { _ in .status(403) }
    try await PrintedHosts.$server.withValue(server) {
      let client = ResilientClient()
      for _ in 1...2 {
        let user = try await client.fetch(key: "42", request: ClientPageTests.GetUserRequest(id: "42"))
        #expect(user == alice)
      }
      #expect(server.requestCount == 3)
      await #expect(throws: PrismNetworkError.serverError) {
        _ = try await client.fetch(key: "43", request: ClientPageTests.GetUserRequest(id: "43"))
      }
      #expect(server.requests(path: "/v1/users/43").count == 4)
      await #expect(throws: PrismNetworkError.forbidden) {
        _ = try await client.fetch(key: "44", request: ClientPageTests.GetUserRequest(id: "44"))
      }
      #expect(server.requests(path: "/v1/users/44").count == 1)
    }
  }
}
