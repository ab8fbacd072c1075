import EKNetwork
import LoopbackServer
import Testing

/// The code blocks of "Type-Safe Endpoints" as printed, except where a comment says otherwise.
struct EndpointPageTests {
  enum ProductEndpoint: PrismNetworkEndpoint {
    case list(page: Int, limit: Int)
    case detail(id: String)
    case create(name: String, price: Double)
    case update(id: String, name: String)
    case delete(id: String)

    var host: String { "api.store.com" }

    var path: String {
      switch self {
      case .list: return "/v1/products"
      case .detail(let id): return "/v1/products/\(id)"
      case .create: return "/v1/products"
      case .update(let id, _): return "/v1/products/\(id)"
      case .delete(let id): return "/v1/products/\(id)"
      }
    }

    var method: PrismNetworkMethod {
      switch self {
      case .list, .detail: return .get
      case .create: return .post
      case .update: return .put
      case .delete: return .delete
      }
    }

    var queryItems: [URLQueryItem]? {
      switch self {
      case .list(let page, let limit):
        return [
          URLQueryItem(name: "page", value: "\(page)"),
          URLQueryItem(name: "limit", value: "\(limit)"),
        ]
      default:
        return nil
      }
    }

    var headers: [String: String] {
      [
        "Content-Type": PrismNetworkHeaderType.json.rawValue,
        "Accept": PrismNetworkHeaderType.json.rawValue,
      ]
    }

    // The page has `["name": name, "price": price] as [String: Any]`, which is not Encodable.
    struct NewProduct: Encodable {
      let name: String
      let price: Double
    }

    var body: (any Encodable)? {
      switch self {
      case .create(let name, let price):
        return NewProduct(name: name, price: price)
      case .update(_, let name):
        return ["name": name]
      default:
        return nil
      }
    }

    var cacheInterval: TimeInterval? {
      switch self {
      case .list: return 60  // cache for 1 minute
      case .detail: return 300  // cache for 5 minutes
      default: return nil  // no caching for mutations
      }
    }
  }

  // The page declares only the property.
  enum UploadEndpoint: PrismNetworkEndpoint {
    case upload
    case other

    var host: String { "api.store.com" }
    var path: String { "/" }

    var timeoutInterval: TimeInterval? {
      switch self {
      case .upload: return 120  // 2 minutes for uploads
      default: return nil  // use session default
      }
    }
  }

  // The page leaves the store to the reader.
  enum TokenStore {
    static let accessToken = "secret"
  }

  enum AuthEndpoint: PrismNetworkEndpoint {
    case profile
    case refresh(token: String)

    var host: String { "auth.example.com" }
    // The page has a comment here.
    var path: String {
      switch self {
      case .profile: return "/profile"
      case .refresh: return "/refresh"
      }
    }

    var headers: [String: String] {
      switch self {
      case .profile:
        return [
          "Authorization": "Bearer \(TokenStore.accessToken)",
          "Content-Type": PrismNetworkHeaderType.json.rawValue,
        ]
      case .refresh(let token):
        return [
          "X-Refresh-Token": token,
          "Content-Type": PrismNetworkHeaderType.json.rawValue,
        ]
      }
    }
  }

  struct Product: PrismEntity, Sendable {
    let id: String
    let name: String
  }

  struct ProductRequest<Response: Decodable & Sendable>: PrismNetworkRequest {
    let endpoint: ProductEndpoint
  }

  struct AuthRequest: PrismNetworkRequest {
    typealias Response = EmptyResponse
    let endpoint: AuthEndpoint
  }

  @Test func computedURLAndRequest() throws {
    let endpoint = ProductEndpoint.list(page: 1, limit: 20)

    // Get the fully constructed URL
    let url = try endpoint.url
    // → https://api.store.com/v1/products?page=1&limit=20

    // Get a configured URLRequest
    let urlRequest = try endpoint.request
    // → GET https://api.store.com/v1/products?page=1&limit=20
    //   Content-Type: application/json
    //   Accept: application/json

    #expect(url.absoluteString == "https://api.store.com/v1/products?page=1&limit=20")
    #expect(urlRequest.url == url && urlRequest.httpMethod == "GET")
    #expect(urlRequest.allHTTPHeaderFields == ["Content-Type": "application/json", "Accept": "application/json"])
    #expect(try UploadEndpoint.upload.request.timeoutInterval == 120)
    #expect(try UploadEndpoint.other.request.timeoutInterval == URLRequest(url: url).timeoutInterval)
  }

  @Test func mediaTypes() {
    // Common types
    #expect(PrismNetworkHeaderType.json.rawValue == "application/json")
    #expect(PrismNetworkHeaderType.formURLEncoded.rawValue == "application/x-www-form-urlencoded")
    #expect(PrismNetworkHeaderType.multipartFormData.rawValue == "multipart/form-data")
    #expect(PrismNetworkHeaderType.plainText.rawValue == "text/plain")
    #expect(PrismNetworkHeaderType.html.rawValue == "text/html")
    #expect(PrismNetworkHeaderType.octetStream.rawValue == "application/octet-stream")

    // Media types
    #expect(PrismNetworkHeaderType.jpeg.rawValue == "image/jpeg")
    #expect(PrismNetworkHeaderType.png.rawValue == "image/png")
    #expect(PrismNetworkHeaderType.mp4.rawValue == "video/mp4")
    #expect(PrismNetworkHeaderType.pdf.rawValue == "application/pdf")

    // Wildcards
    #expect(PrismNetworkHeaderType.any.rawValue == "*/*")
    #expect(PrismNetworkHeaderType.image.rawValue == "image/*")
  }

  @Test func everyCaseIsSent() async throws {
    let server = try LoopbackServer()
    server.route("/v1/products/*") { request in
      request.method == "DELETE" ? .status(204) : .json(Product(id: "1", name: request.method))
    }
    server.route("GET", "/v1/products") { _ in .json([Product(id: "1", name: "tea")]) }
    server.route("POST", "/v1/products") { _ in .json(Product(id: "2", name: "pot"), status: 201) }
    server.route("/profile") { _ in .status(204) }
    server.route("/refresh") { _ in .status(204) }

    try await PrintedHosts.$server.withValue(server) {
      let client = LoopbackClient()
      for _ in 1...2 {
        let list = try await client.request(on: ProductRequest<[Product]>(endpoint: .list(page: 1, limit: 20)))
        #expect(list.map(\.id) == ["1"])
        #expect(try await client.request(on: ProductRequest<Product>(endpoint: .detail(id: "1"))).name == "GET")
      }
      #expect(server.requestCount == 2, "both are kept")
      let created = try await client.request(on: ProductRequest<Product>(endpoint: .create(name: "pot", price: 9.5)))
      #expect(created.id == "2")
      #expect(server.requests.last?.text == #"{"name":"pot","price":9.5}"#)
      _ = try await client.request(on: ProductRequest<Product>(endpoint: .update(id: "1", name: "cup")))
      #expect(server.requests.last?.text == #"{"name":"cup"}"#)
      #expect(server.requests.last?.method == "PUT")
      _ = try await client.request(on: ProductRequest<EmptyResponse>(endpoint: .delete(id: "1")))
      #expect(server.requests.last?.method == "DELETE")
      _ = try await client.request(on: AuthRequest(endpoint: .profile))
      #expect(server.requests.last?.header("Authorization") == "Bearer secret")
      _ = try await client.request(on: AuthRequest(endpoint: .refresh(token: "again")))
      #expect(server.requests.last?.header("X-Refresh-Token") == "again")
    }
  }
}
