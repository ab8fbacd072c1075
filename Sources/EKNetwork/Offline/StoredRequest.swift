import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A request as it is stored in a queue's folder: everything but the bytes of its body.
struct StoredRequest: Codable, Equatable {
  enum Body: Codable, Equatable {
    case none
    /// In the same file, after the encoded request.
    case inline
    /// In a separate file, which belongs to the queue.
    case copied
    /// In a file of the app.
    case referenced(path: String)
  }

  private static let credentials: Set<String> = ["authorization", "proxy-authorization", "cookie"]

  var id: UUID
  var createdAt: Date
  var priority: Int
  var url: URL
  var method: String
  var fields: [String: String]
  /// `nil` for an infinite timeout, which JSON cannot represent.
  var timeout: TimeInterval?
  var handlesCookies: Bool
  // Optional: files of earlier versions do not have them.
  var options: RequestOptions?
  var rejectsRedirects: Bool?
  /// The home directory when the request was stored, if its body is in a file of the app.
  var home: String?
  var body: Body

  init(_ request: PrismQueuedRequest, body: Body, storesCredentials: Bool) throws(PrismOfflineQueueError) {
    guard let url = request.urlRequest.url else { throw .noURL }
    id = request.id
    createdAt = request.createdAt
    priority = request.priority
    self.url = storesCredentials ? url : url.withoutCredentials
    method = request.urlRequest.httpMethod ?? "GET"
    fields = request.urlRequest.allHTTPHeaderFields ?? [:]
    if !storesCredentials { fields = fields.filter { !Self.credentials.contains($0.key.lowercased()) } }
    let interval = request.urlRequest.timeoutInterval
    timeout = interval.isFinite ? interval : nil
    handlesCookies = request.urlRequest.httpShouldHandleCookies
    options = RequestOptions(request.urlRequest)
    rejectsRedirects = request.redirectPolicy == .reject
    if case .referenced = body { home = NSHomeDirectory() }
    self.body = body
  }

  /// Returns the request, with its body from `data` or in `file`.
  func request(retryCount: Int, data: Data, file: URL?) -> PrismQueuedRequest {
    var urlRequest = URLRequest(url: url)
    urlRequest.httpMethod = method
    urlRequest.allHTTPHeaderFields = fields
    urlRequest.timeoutInterval = timeout ?? .infinity
    urlRequest.httpShouldHandleCookies = handlesCookies
    options?.apply(to: &urlRequest)
    if body == .inline { urlRequest.httpBody = data }
    var request = PrismQueuedRequest(
      id: id, urlRequest: urlRequest, createdAt: createdAt, retryCount: retryCount, priority: priority)
    request.bodyFile = file
    request.redirectPolicy = rejectsRedirects == true ? .reject : .follow
    return request
  }

  /// Returns where a file is after its home directory has moved, as that of an iOS app does with each update.
  static func moved(_ path: String, from old: String?, to home: String) -> String {
    guard let old, old != home else { return path }
    // On Apple's platforms `/var` is a link to `/private/var`: paths occur with and without the prefix.
    for prefix in ["", "/private"] where path.hasPrefix(prefix + old + "/") {
      return home + path.dropFirst(prefix.count + old.count)
    }
    return path
  }
}
