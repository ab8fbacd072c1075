import Foundation

/// The routes of a server, which select the handler of a request.
struct Router: Sendable {
  struct Route: Sendable {
    var method: String?
    var path: String
    var onHead: LoopbackServer.HeadHandler?
    var handler: LoopbackServer.Handler

    func matches(method: String, path: String) -> Bool {
      if let wanted = self.method, wanted != method { return false }
      guard self.path.hasSuffix("/*") else { return path == self.path }
      return path.hasPrefix(self.path.dropLast()) || path == self.path.dropLast(2)
    }
  }

  private var routes: [Route] = []
  var fallback: LoopbackServer.Handler

  init() { fallback = Self.notFound }

  mutating func add(_ route: Route) { routes.append(route) }

  /// Returns the route for a request; the one added last takes precedence.
  func route(for request: LoopbackServer.Request) -> Route {
    routes.last { $0.matches(method: request.method, path: request.path) }
      ?? Route(path: request.path, handler: fallback)
  }

  private static let notFound: LoopbackServer.Handler = { request in
    .text("No route for \(request.method) \(request.target)\n", status: 404)
  }
}
