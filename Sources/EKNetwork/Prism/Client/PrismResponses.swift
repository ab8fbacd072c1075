/// The responses to one request, as its ``PrismCachePolicy`` has them: two with `.cacheThenNetwork` and a stored response
/// that is fresh, else one.
///
/// Nothing is sent before the first iteration, and each iteration sends a request of its own.
public struct PrismResponses<Element: Sendable>: AsyncSequence, Sendable {
  private let start: @Sendable () async throws -> CachedLoad<Element>

  init(_ start: @escaping @Sendable () async throws -> CachedLoad<Element>) { self.start = start }

  /// Starts from the beginning.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(start: start) }

  /// Goes through the responses.
  public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
    private enum Phase {
      case first
      case second(CachedLoad<Element>)
      case end
    }

    fileprivate let start: @Sendable () async throws -> CachedLoad<Element>
    private var phase = Phase.first

    fileprivate init(start: @escaping @Sendable () async throws -> CachedLoad<Element>) { self.start = start }

    /// The next response; `nil` when that was all.
    ///
    /// Throws what the request throws. After a stored response an error only says that the network had none.
    public mutating func next() async throws -> Element? {
      switch phase {
      case .end: return nil
      case .second(let load):
        phase = .end
        return try await PrismNetworkFailure.surfacing { try await load.fetched() }
      case .first:
        phase = .end
        let start = start
        let (value, rest) = try await PrismNetworkFailure.surfacing { () -> (Element, CachedLoad<Element>?) in
          let load = try await start()
          let (value, isFollowed) = try await load.first()
          return (value, isFollowed ? load : nil)
        }
        if let rest { phase = .second(rest) }
        return value
      }
    }
  }
}
