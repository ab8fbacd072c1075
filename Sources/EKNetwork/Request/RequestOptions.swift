import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The options of a `URLRequest` for how it is sent, except its timeout and cookies.
struct RequestOptions: Codable, Equatable, Sendable {
  private let cachePolicy: UInt
  private let networkServiceType: UInt
  private let allowsCellularAccess: Bool
  #if canImport(Darwin)
    private let allowsExpensiveNetworkAccess: Bool
    private let allowsConstrainedNetworkAccess: Bool
  #endif

  init(_ request: URLRequest) {
    cachePolicy = request.cachePolicy.rawValue
    networkServiceType = request.networkServiceType.rawValue
    allowsCellularAccess = request.allowsCellularAccess
    #if canImport(Darwin)
      allowsExpensiveNetworkAccess = request.allowsExpensiveNetworkAccess
      allowsConstrainedNetworkAccess = request.allowsConstrainedNetworkAccess
    #endif
  }

  func apply(to request: inout URLRequest) {
    if let policy = URLRequest.CachePolicy(rawValue: cachePolicy) { request.cachePolicy = policy }
    if let type = URLRequest.NetworkServiceType(rawValue: networkServiceType) { request.networkServiceType = type }
    request.allowsCellularAccess = allowsCellularAccess
    #if canImport(Darwin)
      request.allowsExpensiveNetworkAccess = allowsExpensiveNetworkAccess
      request.allowsConstrainedNetworkAccess = allowsConstrainedNetworkAccess
    #endif
  }
}
