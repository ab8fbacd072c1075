import Foundation
#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif
struct SessionCookies: Sendable {
  init(configuration: URLSessionConfiguration) {}
  func header(for request: URLRequest, url: URL) -> String? { nil }
  func store(setCookieLines: [String], for url: URL) {}
}
extension UserAgentConfiguration { static let fallback: String = "EKNetwork/1.0.0" }
extension Transport { func fetch(_ request: TransportRequest) async throws -> FetchedResponse {
  let r = try await start(request)
  var d = Data()
  while let c = try await r.body.next() { d.append(c) }
  return FetchedResponse(head: r.head, data: d)
} }
