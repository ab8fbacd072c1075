import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A chain of middleware in order, the first outermost.
struct MiddlewareChain: Sendable {
  typealias Next = @Sendable (URLRequest) async throws -> NetworkMiddlewareResponse

  let middleware: [any NetworkMiddleware]
  let context: NetworkMiddlewareContext

  /// Runs the middleware in a task of its own: one that ignores cancellation does not keep the caller.
  func run(_ request: URLRequest, last: @escaping Next) async throws -> NetworkMiddlewareResponse {
    guard !middleware.isEmpty else { return try await last(request) }
    return try await withPromptCancellation { try await run(request, from: 0, last: last) }
  }

  private func run(_ request: URLRequest, from index: Int, last: @escaping Next) async throws
    -> NetworkMiddlewareResponse
  {
    try Task.checkCancellation()
    guard index < middleware.count else { return try await last(request) }
    let next = NetworkMiddlewareNext { try await run($0, from: index + 1, last: last) }
    return try await middleware[index].intercept(request, context: context, next: next)
  }
}
