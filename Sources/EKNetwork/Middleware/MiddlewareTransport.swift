import Foundation

/// A transport with middleware around each of its requests. It is above the HTTP cache: what middleware adds is part of
/// the client's identity there.
struct MiddlewareTransport: WrappingTransport {
  let wire: any Transport
  let middleware: [any NetworkMiddleware]
  /// Identifies the owner of the middleware. Anything stored above this transport is keyed by the request before
  /// middleware, and is only for requests of this owner: other middleware may send the same request for another user.
  let owner: String
  /// What is known about the effect of requests that are not idempotent, of which an attempt does not report the end: middleware
  /// may send several, and return a response of its own. That of the last one is included, unless it was carried out.
  let fateOfOthers = Locked(Repeatability.Fate.notCarriedOut)

  var sessionSettings: SessionSettings {
    let settings = wire.sessionSettings
    return SessionSettings(settings, owner: owner + (settings.owner ?? ""))
  }

  func start(_ request: TransportRequest) async throws -> TransportResponse {
    let session = wire.sessionSettings
    let hop = request.hop
    var context = NetworkMiddlewareContext(isRedirected: hop.isRedirected, hasLeftOrigin: hop.hasLeftOrigin)
    context.limit.deadline = request.ownDeadline
    // The fate of the last request; `nil` if there was none.
    let last = Locked<Repeatability.Fate?>(nil)
    let chain = MiddlewareChain(middleware: middleware, context: context)
    let response = try await chain.run(hop.sent.urlRequest) { changed in
      // Of the URL, only the query may change: it may hold a signature.
      guard let url = changed.url, Origin(url) == Origin(hop.sent.url),
        url.path(percentEncoded: true) == hop.sent.url.path(percentEncoded: true)
      else { throw NetworkMiddlewareError.changedDestination }
      let changed = try HTTPRequest(changed, changing: hop.sent)
      let before = last.withLock { last in
        defer { last = last ?? .notCarriedOut }
        return last
      }
      let isSecond = before != nil
      if isSecond, !changed.bodyIsReplayable { throw RequestBodyError.alreadySent }
      var request = request
      request.hop = hop.replaced(by: changed, session: session)
      if isSecond { request.hop = request.hop.sentAgain() }
      if changed.method != hop.sent.method { request.isIdempotent = nil }
      if changed.hasIdempotencyKey, !hop.sent.hasIdempotencyKey { request.isIdempotent = true }
      if middleware.contains(where: { $0 is any TimedMiddleware }) { request.wantsTimings = true }
      if let before { hide(before) }
      let isIdempotent = request.isIdempotent ?? changed.isIdempotent
      var response: TransportResponse
      do { response = try await wire.start(request) } catch {
        if !isIdempotent { hide(Repeatability(after: error, isIdempotent: false).fate) }
        throw error
      }
      // Here, because middleware may change the response, or return another.
      request.hop.notePassword(provenBy: response.head, of: wire)
      response.head.isReceived = false
      if !isIdempotent, let status = response.head.statusCode {
        let fate = Repeatability(status: status, isIdempotent: false).fate
        if fate == .carriedOut { last.withLock { $0 = fate } } else { hide(fate) }
      }
      response.head.isToOtherCredentials = request.hop.hasOtherCredentials
      return try NetworkMiddlewareResponse(response)
    }
    return try response.transportResponse(url: hop.sent.url)
  }

  private func hide(_ fate: Repeatability.Fate) { fateOfOthers.withLock { $0 = max($0, fate) } }
}

extension Transport {
  /// The fate of requests that middleware has sent besides the last one, if the server may have carried one of them out.
  var hiddenFate: Repeatability.Fate? {
    let fate = (self as? MiddlewareTransport)?.fateOfOthers.withLock { $0 }
    return fate == .notCarriedOut ? nil : fate
  }
}

/// A chain of middleware in order, the first outermost.
struct MiddlewareChain: Sendable {
  typealias Next = @Sendable (URLRequest) async throws -> NetworkMiddlewareResponse

  let middleware: [any NetworkMiddleware]
  let context: NetworkMiddlewareContext

  /// Runs the middleware in a task of its own: one that ignores cancellation does not keep the caller.
  func run(_ request: URLRequest, last: @escaping Next) async throws -> NetworkMiddlewareResponse {
    guard !middleware.isEmpty else { return try await last(request) }
    return try await withPromptCancellation { try await run(request, from: 0, home: request, last: last) }
  }

  /// - Parameter home: The request when it was last at the origin that it had before all middleware.
  private func run(_ request: URLRequest, from index: Int, home: URLRequest, last: @escaping Next) async throws
    -> NetworkMiddlewareResponse
  {
    try Task.checkCancellation()
    guard index < middleware.count else { return try await last(request) }
    var context = context
    let isAway = request.isElsewhere(than: home)
    if isAway { context.hasLeftOrigin = true }
    let home = isAway ? home : request
    let next = NetworkMiddlewareNext { changed in
      let next = changed.isElsewhere(than: request) ? changed.moved(from: request, home: home) : changed
      return try await run(next, from: index + 1, home: home, last: last)
    }
    return try await middleware[index].intercept(request, context: context, next: next)
  }
}

extension URLRequest {
  fileprivate func isElsewhere(than other: URLRequest) -> Bool {
    url != other.url && url.flatMap { Origin($0) } != other.url.flatMap { Origin($0) }
  }

  /// Returns this request, which middleware has made from one to another origin: what it has not set itself was meant for that
  /// origin, as after a redirect. At the origin of the call, the request has again what was set for it.
  fileprivate func moved(from previous: URLRequest, home: URLRequest) -> URLRequest {
    var request = self
    request.removeFields { OriginFields.stays($0) && previous.value(forHTTPHeaderField: $0) == $1 }
    if let url, let credential = try? url.credential, credential == (try? previous.url?.credential) {
      request.url = url.withoutCredentials
    }
    guard !isElsewhere(than: home) else { return request }
    if let source = home.url { request.url = request.url?.inheritingCredentials(of: source) }
    for (name, value) in home.allHTTPHeaderFields ?? [:]
    where OriginFields.stays(name) && request.value(forHTTPHeaderField: name) == nil {
      request.setValue(value, forHTTPHeaderField: name)
    }
    return request
  }
}

/// Allows one `next` of a call at a time to use the caller's request, and none after the call has ended.
final class CallGate: Sendable {
  /// Cancels the work that is under way and waits for its end; `nil` if there is none.
  private let state = Locked<(end: (@Sendable () async -> Void)?, isClosed: Bool)>((nil, false))

  /// Runs the work of one `next`, which is cancelled when its task is cancelled or the call has ended.
  func run<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
    let task = try state.withLock { state in
      guard state.end == nil, !state.isClosed else { throw NetworkMiddlewareError.overlappingCalls }
      let task = Task {
        defer { self.state.withLock { $0.end = nil } }
        return try await work()
      }
      state.end = {
        task.cancel()
        _ = await task.result
      }
      return task
    }
    return try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      task.cancel()
    }
  }

  /// Closes the gate and waits until the request, which is only borrowed, is no longer in use. Work that middleware has
  /// left running in its own task is cancelled.
  func close() async {
    let end = state.withLock { state in
      state.isClosed = true
      return state.end
    }
    await end?()
  }
}

/// The changes that middleware around a call has made to its request, which are applied to each attempt, as it is built
/// from the caller's own request. Unchanged fields stay those of the attempt, including a new token.
struct RequestChanges: Sendable {
  private let before: URLRequest
  private let after: URLRequest
  private let options: (before: RequestOptions, after: RequestOptions)
  private var fields: [(name: String, value: String?)] = []
  let leavesOrigin: Bool

  init(from before: URLRequest, to after: URLRequest) {
    self.before = before
    self.after = after
    options = (RequestOptions(before), RequestOptions(after))
    leavesOrigin = before.url.flatMap({ Origin($0) }) != after.url.flatMap({ Origin($0) })
    let (old, new) = (before.allHTTPHeaderFields ?? [:], after.allHTTPHeaderFields ?? [:])
    for name in old.keys where after.value(forHTTPHeaderField: name) == nil { fields.append((name, nil)) }
    for (name, value) in new where before.value(forHTTPHeaderField: name) != value { fields.append((name, value)) }
    // A dictionary has another order each time.
    fields.sort { $0.name < $1.name }
  }

  /// Whether the server can tell a repetition of the changed request by a key that the caller's does not have.
  var addsIdempotencyKey: Bool {
    let name = HTTPRequest.idempotencyKey
    return after.value(forHTTPHeaderField: name) != nil && before.value(forHTTPHeaderField: name) == nil
  }

  var replacesBody: Bool { before.httpBodyStream !== after.httpBodyStream || before.httpBody != after.httpBody }

  func applied(to request: HTTPRequest) throws -> HTTPRequest {
    var changed = request.urlRequest
    if before.url != after.url { changed.url = url(for: request.url) }
    if before.httpMethod != after.httpMethod { changed.httpMethod = after.httpMethod }
    if before.timeoutInterval != after.timeoutInterval { changed.timeoutInterval = after.timeoutInterval }
    if options.before != options.after { options.after.apply(to: &changed) }
    if before.httpShouldHandleCookies != after.httpShouldHandleCookies {
      changed.httpShouldHandleCookies = after.httpShouldHandleCookies
    }
    if before.httpBodyStream !== after.httpBodyStream { changed.httpBodyStream = after.httpBodyStream }
    if after.httpBodyStream == nil, before.httpBody != after.httpBody || before.httpBodyStream != nil {
      changed.httpBody = after.httpBody
    }
    var result = try HTTPRequest(changed, changing: request)
    // Credentials of the attempt are meant for its own origin. Those that middleware has set are sent.
    if leavesOrigin { result.removeOriginFields() }
    for (name, value) in fields { result.set(name, value) }
    return result
  }

  /// Returns the changed URL; at the origin of an attempt whose base URL has moved to another one, for which its token is meant,
  /// unless it was the middleware that has chosen the origin.
  private func url(for attempt: URL) -> URL? {
    guard !leavesOrigin, let url = after.url, Origin(attempt) != Origin(url) else { return after.url }
    func pathStart(_ url: URL) -> Int? {
      var text = url.absoluteString
      return text.withUTF8 { BaseURLParts($0)?.pathStart }
    }
    guard let end = pathStart(attempt), let start = pathStart(url) else { return nil }
    let text = Array(attempt.absoluteString.utf8.prefix(end)) + Array(url.absoluteString.utf8.dropFirst(start))
    return URL(string: String(decoding: text, as: UTF8.self))
  }
}
