import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The key of exchanges of one client that can share a response: the identity, everything that is sent except for the
/// trace, and every option that affects the response.
struct ExchangeKey: Hashable, Sendable {
  private let method: String
  private let url: String
  private let fields: [String: String]
  private let identity: RequestIdentity
  private let timeout: TimeInterval
  private let redirectPolicy: RedirectPolicy
  private let accepted: StatusCodes
  private let limits: ResponseLimits
  private let decodesContent: Bool
  private let cacheMode: CacheMode

  /// Returns `nil` for requests that must not be shared: those with a method that is not safe (RFC 9110 §9.2.1), or
  /// with a body.
  init?(
    _ hop: HopRequest, redirectPolicy: RedirectPolicy, accepted: StatusCodes = .successful, limits: ResponseLimits,
    decodesContent: Bool = true, cacheMode: CacheMode = .default
  ) {
    let request = hop.urlRequest
    guard Self.isSafe(request), request.httpBody == nil, request.httpBodyStream == nil, let url = request.url else {
      return nil
    }
    method = request.httpMethod ?? "GET"
    self.url = url.absoluteString
    fields = Self.untraced(request.allHTTPHeaderFields ?? [:])
    identity = hop.identity
    timeout = request.timeoutInterval
    self.redirectPolicy = redirectPolicy
    self.accepted = accepted
    self.limits = limits
    self.decodesContent = decodesContent
    self.cacheMode = cacheMode
  }

  /// Returns the fields without those of the trace, which differ for each request and do not affect the response.
  private static func untraced(_ fields: [String: String]) -> [String: String] {
    func isOfTrace(_ name: String) -> Bool {
      // Few names are that long: the others are not lowercased.
      guard (10...11).contains(name.utf8.count) else { return false }
      return ["traceparent", "tracestate"].contains(name.lowercased())
    }
    // Most requests have no trace, and their fields are not copied.
    return fields.keys.contains(where: isOfTrace) ? fields.filter { !isOfTrace($0.key) } : fields
  }

  /// Returns whether the method of the request is safe.
  static func isSafe(_ request: URLRequest) -> Bool {
    ["GET", "HEAD", "OPTIONS", "TRACE"].contains(request.httpMethod ?? "GET")
  }
}
