import EKNetwork

// Endpoints, clients and policies as in apps.

enum ShopEndpoint: PrismNetworkEndpoint {
  case list(page: Int)
  case create(name: String)

  var host: String { "api.store.com" }
  var path: String { "/v1/products" }
  var method: PrismNetworkMethod {
    switch self {
    case .list: return .get
    case .create: return .post
    }
  }
  var queryItems: [URLQueryItem]? {
    if case .list(let page) = self { return [URLQueryItem(name: "page", value: "\(page)")] }
    return nil
  }
  var headers: [String: String] { ["Accept": PrismNetworkHeaderType.json.rawValue] }
  var body: (any Encodable)? {
    if case .create(let name) = self { return ["name": name] }
    return nil
  }
  var cacheInterval: TimeInterval? { 60 }
}

struct ShopItem: PrismEntity, Sendable {
  let id: String
  let price: Double
}

struct ListShopItems: PrismNetworkRequest {
  typealias Response = [ShopItem]
  let endpoint: ShopEndpoint = .list(page: 1)
}

struct CreateShopItem: PrismNetworkRequest {
  typealias Response = ShopItem
  let endpoint: ShopEndpoint

  init(name: String) {
    self.endpoint = .create(name: name)
  }
}

actor MockClient: PrismNetworkClient {
  var mockResponse: Any?

  func request<Request: PrismNetworkRequest>(
    on request: Request,
    with formatter: DateFormatter?
  ) async throws -> Request.Response {
    guard let response = mockResponse as? Request.Response else {
      throw PrismNetworkError.invalidResponse
    }
    return response
  }

  func redirect<Request: PrismNetworkRequest>(
    from request: Request
  ) async throws -> URL {
    throw PrismNetworkError.invalidResponse
  }
}

struct Patient: PrismRetryPolicy {
  func shouldRetry(for error: Error, attempt: Int) -> Bool {
    guard attempt < 3, let error = error as? PrismNetworkError else { return false }
    switch error {
    case .noConnectivity, .serverError: return true
    case .unauthorized, .forbidden, .badRequest: return false
    default: return false
    }
  }

  func delay(for attempt: Int) -> Duration { attempt == 0 ? .seconds(1) : .seconds(10) }
}

@MainActor final class ShopModel {
  var items: [ShopItem] = []
  var message = ""
  let client: any PrismNetworkClient
  let adapter = PrismNetworkAdapter(retryPolicy: Patient())
  let cache = PrismResponseCache(maxSize: 10)
  let manager: NetworkManager

  init(client: any PrismNetworkClient, manager: NetworkManager) {
    self.client = client
    self.manager = manager
  }

  func load() async {
    do {
      items = try await client.request(on: ListShopItems())
      items += [try await client.request(on: CreateShopItem(name: "pot"), with: DateFormatter())]
      for try await fresh in adapter.responses(on: ListShopItems()) { items = fresh }
      items = try await PrismNetworkFailure.detailed { try await self.adapter.request(on: ListShopItems()) }
      message = try await client.redirect(from: ListShopItems()).absoluteString
    } catch let error as PrismNetworkError {
      message = error.localizedDescription
    } catch let failure as PrismNetworkFailure {
      message = "\(failure.statusCode ?? 0)"
    } catch {
      message = "\(error)"
    }
  }

  func store(_ data: Data) async {
    await cache.set("items", entry: PrismCacheEntry(data: data, ttl: .seconds(300)))
    if let cached = await cache.get("items", policy: .staleWhileRevalidate) { message = "\(cached.data.count)" }
  }

  func adapterWithCache() -> PrismNetworkAdapter {
    let config = URLSessionConfiguration.default
    config.timeoutIntervalForRequest = 30
    let cache = URLCache(memoryCapacity: 10 * 1024 * 1024, diskCapacity: 50 * 1024 * 1024)
    let client = PrismNetworkAdapter(configuration: config, cache: cache)
    cache.removeAllCachedResponses()
    return client
  }
}
