import Foundation

/// The lookup of one call in the store of its policy, behind the middleware: what that adds to a request, such as
/// credentials, is part of the key. Each attempt is looked up, as each may have another token.
final class PolicyLookup: Sendable {
  struct Found: Sendable {
    let key: CacheKey
    let isFresh: Bool
  }

  private struct Outcome: Sendable {
    let sent: HopRequest
    let decodesContent: Bool
    var found: Found?
    /// The response from the network, unless a stored one was used, as it was before middleware received it.
    var content: (head: ResponseHead, data: Data)?
  }

  private struct State: Sendable {
    /// The latest outcome for each URL: middleware may send other requests, before or after the one whose response it
    /// returns.
    var outcomes: [String: Outcome] = [:]
    /// The URL of the request in progress, before any redirect.
    var url = ""
  }

  /// The maximum number of URLs remembered, after which all are forgotten, and nothing is stored.
  private static let memory = 16

  /// `nil` if any stored response may be used, however old, and no request is sent.
  private let policy: PrismCachePolicy?
  private let store: any ResponseStore
  private let state = Locked(State())

  init(_ policy: PrismCachePolicy?, in store: any ResponseStore) {
    self.policy = policy
    self.store = store
  }

  var isStoredOnly: Bool { policy == nil }

  func found(for sent: HopRequest) -> Found? { outcome(of: sent)?.found }

  /// The key of the latest request that was looked up, whether or not its response is stored; `nil` if none was.
  var latestKey: CacheKey? {
    state.withLock { $0.outcomes[$0.url] }
      .map { $0.found?.key ?? CacheKey($0.sent, decodesContent: $0.decodesContent) }
  }

  /// Returns what to store of the network's response to a request; `nil` if nothing may be stored.
  func kept(of sent: HopRequest, ttl: Duration, at date: Date) -> (entry: PrismCacheEntry, key: CacheKey)? {
    guard let outcome = outcome(of: sent), let (head, data) = outcome.content,
      outcome.sent.sent.isCacheable,
      let key = CacheKey(responseTo: outcome.sent, decodesContent: outcome.decodesContent)
    else { return nil }
    return (PrismCacheEntry(CollectedResponse(head: head, data: data), ttl: ttl, at: date), key)
  }

  private func outcome(of hop: HopRequest) -> Outcome? { state.withLock { $0.outcomes[Self.url(of: hop)] } }

  private static func url(of hop: HopRequest) -> String { hop.own.url.absoluteString }

  private func note(_ outcome: Outcome) {
    let url = Self.url(of: outcome.sent)
    let former = state.withLock { state in
      let former = state.outcomes
      if former.count >= Self.memory { state.outcomes = [:] }
      state.outcomes[url] = outcome
      state.url = url
      return former
    }
    withExtendedLifetime(former) {}
  }

  fileprivate func stored(for request: TransportRequest) async -> TransportResponse? {
    let hop = request.hop
    var outcome = Outcome(sent: hop, decodesContent: request.decodesContent)
    note(outcome)
    guard hop.sent.isCacheable, policy != .networkOnly else { return nil }
    let key = CacheKey(hop, decodesContent: request.decodesContent)
    guard let (entry, isFresh) = await store.entry(for: key), let response = entry.urlResponse(for: hop.sent.url)
    else { return nil }
    guard policy?.uses(isFresh: isFresh) ?? true else { return nil }
    outcome.found = Found(key: key, isFresh: isFresh)
    note(outcome)
    var head = ResponseHead(response)
    head.isStored = true
    return TransportResponse(head: head, body: BufferedBody(entry.data))
  }

  /// Records a response, to the request in progress or to a redirect of it, while it is read.
  fileprivate func recording(_ response: TransportResponse) -> TransportResponse {
    let url = state.withLock { state in
      state.outcomes[state.url]?.content = nil
      return state.url
    }
    var response = response
    let head = response.head
    let gatherer = BodyGatherer(memoryLimit: .max, disk: nil, expected: head.contentLength)
    response.body = StoringBody(response.body, gatherer: gatherer) { [state] content in
      guard case .data(let data)? = content else { return }
      state.withLock { if $0.outcomes[url]?.found == nil { $0.outcomes[url]?.content = (head, data) } }
    }
    return response
  }
}

extension HTTPRequest {
  /// Whether the response may be stored: the request is a GET. The key does not contain what a stream contains.
  var isCacheable: Bool { method == "GET" && stream == nil }
}

struct PolicyTransport: WrappingTransport {
  let wire: any Transport
  let lookup: PolicyLookup

  func start(_ request: TransportRequest) async throws -> TransportResponse {
    if !request.hop.isRedirected, let stored = await lookup.stored(for: request) { return stored }
    guard !lookup.isStoredOnly else { throw PrismNetworkError.noCache }
    return lookup.recording(try await wire.start(request))
  }
}
