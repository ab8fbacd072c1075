import EKNetwork

// Code as in apps that were written for EKNetwork 1.7 and PrismNetwork 4.4: each declaration here was published like this.

@MainActor final class LoginModel {
  weak var refresher: TokenRefreshProvider?

  func isLoggedIn(_ manager: NetworkManager) -> Bool {
    manager.tokenRefresher !== nil && manager.tokenRefresher === refresher
  }
}

func formWithoutEmptyFields(_ fields: [String: String], sketch: Data) -> MultipartFormData {
  var form = MultipartFormData()
  for (name, value) in fields { form.addPart(name: name, data: Data(value.utf8), mimeType: "text/plain") }
  form.parts.removeAll { $0.data.isEmpty }
  form.parts = form.parts.sorted { $0.name < $1.name }
  form.addPart(name: "sketch", data: sketch, mimeType: PrismNetworkHeaderType.svg.rawValue, filename: "sketch.svg")
  return form
}

func uploads(_ request: URLRequest, _ data: Data, _ session: URLSession) -> [PrismUploadTask] {
  [
    PrismUploadTask(request: request, data: data), PrismUploadTask(request: request, data: data, session: session),
    PrismUploadTask(session: session, request: request, data: data),
  ]
}

func graphQLSamples() -> [PrismGraphQLResponse<[String: Int]>] {
  [
    PrismGraphQLResponse(), PrismGraphQLResponse(errors: [PrismGraphQLError(message: "no")]),
    PrismGraphQLResponse(data: ["a": 1]), PrismGraphQLResponse(data: nil, errors: nil),
  ]
}

@MainActor func deliver(_ requests: [PrismQueuedRequest], to queue: PrismOfflineQueue) async {
  for var request in requests {
    request.retryCount += 1
    if request.retryCount < 5 { await queue.enqueue(request) }
  }
}

func runOnce<T: Sendable>(_ request: PrismRetryableRequest<T>) async throws -> T? {
  do {
    return try await request.operation()
  } catch {
    if request.policy.shouldRetry(for: error, attempt: 0) { return nil }
    throw error
  }
}

func describe(_ error: PrismNetworkError, _ endpoint: RoomEndpoint, _ list: ShopEndpoint) -> String {
  let loggers: [any PrismLogger] = [error, endpoint, list]
  for logger in loggers { logger.log() }
  error.log()
  return error.description
}

func suffix(of type: PrismNetworkHeaderType) -> String? {
  switch type {
  case .json: "json"
  case .xml: "xml"
  case .html: "html"
  case .css: "css"
  case .javascript: "js"
  case .plainText: "txt"
  case .pdf: "pdf"
  case .zip: "zip"
  case .jpeg: "jpg"
  case .png: "png"
  case .gif: "gif"
  case .svg: "svg"
  case .mp3: "mp3"
  case .mp4: "mp4"
  case .formURLEncoded, .multipartFormData, .octetStream, .any, .image, .audio, .video: nil
  }
}

// On Apple's platforms these are the system's types.
#if os(Linux)
  struct StoredEndpoint: PrismNetworkSocketEndpoint {
    let host: NWEndpoint.Host
    let number: UInt16
    let parameters: NWParameters

    var port: NWEndpoint.Port { get throws { NWEndpoint.Port(rawValue: number) ?? .any } }

    static func local(_ number: UInt16) -> StoredEndpoint {
      let webSocket = NWProtocolWebSocket.Options()
      webSocket.autoReplyPing = true
      let parameters = NWParameters(tls: nil)
      parameters.defaultProtocolStack.applicationProtocols.insert(webSocket, at: 0)
      print(parameters.debugDescription)
      return StoredEndpoint(host: "localhost", number: number, parameters: parameters)
    }
  }
#endif

/// Loads an endpoint with a session of the app's own, which caches as the endpoint says.
func load(_ endpoint: ShopEndpoint, _ session: URLSession) async throws -> Data {
  let request = try endpoint.request
  guard request.cachePolicy == .returnCacheDataElseLoad else { throw PrismNetworkError.noCache }
  return try await session.data(for: request).0
}

/// An entity describes itself as JSON.
func copy(of item: ShopItem) throws -> ShopItem {
  try JSONDecoder().decode(ShopItem.self, from: Data(item.description.utf8))
}
