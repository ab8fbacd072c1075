/// The responses to one request, as its ``PrismCachePolicy`` specifies: two with `.cacheThenNetwork` and a stored
/// response, otherwise one.
///
/// Nothing is sent before the first iteration, and each iteration sends a request of its own.
public struct PrismResponses<Element: Sendable>: AsyncSequence, Sendable {
  private let start: @Sendable () async throws -> CachedLoad<Element>

  init(_ start: @escaping @Sendable () async throws -> CachedLoad<Element>) { self.start = start }

  /// Returns an iterator that sends a request of its own.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(start: start) }

  /// An iterator over the responses.
  public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
    private enum Phase {
      case first
      case second(CachedLoad<Element>)
      case end
    }

    fileprivate let start: @Sendable () async throws -> CachedLoad<Element>
    private var phase = Phase.first

    fileprivate init(start: @escaping @Sendable () async throws -> CachedLoad<Element>) { self.start = start }

    /// Returns the next response; `nil` after the last.
    ///
    /// Throws what the request throws. An error after a stored response only means that the network returned none.
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
          let (value, followed) = try await load.first()
          return (value, followed == nil ? nil : load)
        }
        if let rest { phase = .second(rest) }
        return value
      }
    }
  }
}
