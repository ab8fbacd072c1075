import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One attempt of a request, with the redirects that it runs into.
struct Exchange: Sendable {
  let transport: any Transport
  var redirectPolicy = RedirectPolicy.follow
  var progress: ProgressReporter?
  var log: RequestLog?

  /// The final response, with its body. What its status means is not looked at here.
  func load(_ urlRequest: URLRequest) async throws -> FetchedResponse {
    let follows = redirectPolicy == .follow && !transport.resolvesRedirects
    var redirects = RedirectState(policy: follows ? .follow : .reject)
    var request = TransportRequest(urlRequest)
    request.deadline = transport.resourceTimeout.map { .now + $0 }
    request.followsRedirects = follows
    request.onSend = progress?.onSend
    request.onReceive = progress?.onReceive
    while true {
      let response = try await transport.fetch(request)
      switch redirects.received(response.head, for: request.urlRequest, decision: response.redirect) {
      case .deliver: return response
      case .fail(let error): throw error
      case .follow(let next):
        if let status = response.head.statusCode, let url = next.url { log?.redirected(status: status, to: url) }
        request.urlRequest = next
      }
    }
  }
}
