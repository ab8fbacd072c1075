import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The routes of a stub session: the replies to each method and path.
struct StubRoutes {
  enum Source {
    case reply(StubSession.Reply)
    case closure(@Sendable (URLRequest) async throws -> StubSession.Reply)
  }

  private struct Route {
    let method: String
    let path: String
    let segments: [Substring]
    var replies: ArraySlice<StubSession.Reply> = []
    var closure: (@Sendable (URLRequest) async throws -> StubSession.Reply)?

    init(_ method: String, _ path: String) {
      self.method = method
      self.path = path
      segments = path.split(separator: "/", omittingEmptySubsequences: false)
    }

    func matches(_ method: String, _ path: [Substring]) -> Bool {
      method == self.method && path.count == segments.count
        && zip(segments, path).allSatisfy { $0 == "*" || $0 == $1 }
    }
  }

  private var routes: [Route] = []

  var descriptions: [String] { routes.map { "\($0.method) \($0.path)" } }

  mutating func set(_ method: String, _ path: String, replies: [StubSession.Reply]) {
    routes.removeAll { $0.method == method && $0.path == path }
    guard !replies.isEmpty else { return }
    var route = Route(method, path)
    route.replies = replies[...]
    routes.append(route)
  }

  mutating func set(
    _ method: String, _ path: String, closure: @escaping @Sendable (URLRequest) async throws -> StubSession.Reply
  ) {
    routes.removeAll { $0.method == method && $0.path == path }
    var route = Route(method, path)
    route.closure = closure
    routes.append(route)
  }

  /// Returns the next reply to a request; the last reply of a route is repeated.
  mutating func next(_ method: String, _ path: String) -> Source? {
    let segments = path.split(separator: "/", omittingEmptySubsequences: false)
    guard let index = routes.lastIndex(where: { $0.matches(method, segments) }) else { return nil }
    if let closure = routes[index].closure { return .closure(closure) }
    let reply = routes[index].replies.first
    if routes[index].replies.count > 1 { routes[index].replies.removeFirst() }
    return reply.map { .reply($0) }
  }
}
