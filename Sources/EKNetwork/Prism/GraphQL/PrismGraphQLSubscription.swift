import Foundation

/// The transport of a GraphQL subscription.
public enum PrismGraphQLTransport: Sendable, Equatable {
  /// `graphql-transport-ws`, each subscription on a WebSocket of its own.
  case webSocket
  /// `graphql-sse` in distinct connections mode.
  case serverSentEvents
}

/// The reason why a subscription ended prematurely.
public enum PrismGraphQLSubscriptionError: Error, Equatable, Sendable {
  /// The server rejected the operation.
  case rejected([PrismGraphQLError])
  /// The server violated the subscription's protocol.
  case protocolViolation(String)
  /// The server did not acknowledge the connection in time, or closed it without a reason.
  case notAcknowledged
}

extension PrismGraphQLSubscriptionError: ClassifiedError {
  var failureKind: FailureKind {
    switch self {
    case .rejected: .permanent
    case .protocolViolation: .unclear
    case .notAcknowledged: .temporary
    }
  }
}

extension PrismGraphQLSubscriptionError: LocalizedError {
  /// A description of the error in one sentence; for a rejection, the messages.
  public var errorDescription: String? {
    switch self {
    case .rejected(let errors):
      errors.isEmpty ? "The server rejected the operation" : errors.map(\.message).joined(separator: "; ")
    case .protocolViolation(let text): "The server broke the subscription's protocol: \(text)"
    case .notAcknowledged: "The server did not acknowledge the connection"
    }
  }
}

/// The results of a GraphQL subscription, as they arrive.
///
/// The connection is opened when the iteration starts, and each iteration has a subscription of its own. Results are
/// received only as they are read. Leaving the loop, or cancelling its task, ends the subscription. A lost connection
/// is an error; the subscription is not renewed automatically, because only the app knows which results it has missed.
public struct PrismGraphQLSubscription<T: Decodable & Sendable>: AsyncSequence, Sendable {
  /// The type of the results.
  public typealias Element = PrismGraphQLResponse<T>

  let client: PrismGraphQLClient
  let query: PrismGraphQLQuery
  let transport: PrismGraphQLTransport

  /// Returns an iterator with a subscription of its own.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(subscription: self) }

  /// An iterator over the results of one subscription.
  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let subscription: PrismGraphQLSubscription
    private var source: (any GraphQLSource)?
    private var isOver = false

    fileprivate init(subscription: PrismGraphQLSubscription) { self.subscription = subscription }

    /// Returns the next result; `nil` when the server has completed the subscription.
    ///
    /// Throws ``PrismGraphQLSubscriptionError``, ``PrismNetworkError`` and `CancellationError`.
    public mutating func next() async throws -> PrismGraphQLResponse<T>? {
      guard !isOver else { return nil }
      let (subscription, source) = (subscription, source)
      do {
        let (result, current) = try await PrismNetworkFailure.surfacing {
          () -> (PrismGraphQLResponse<T>?, any GraphQLSource) in
          do { return try await subscription.next(of: source) } catch { throw subscription.client.failure(error) }
        }
        self.source = current
        if result == nil { end() }
        return result
      } catch {
        end()
        throw error
      }
    }

    private mutating func end() {
      isOver = true
      source = nil
    }
  }

  /// Returns the next result of a source, which is opened if there is none.
  private func next(
    of opened: (any GraphQLSource)?
  ) async throws -> (PrismGraphQLResponse<T>?, any GraphQLSource) {
    let source: any GraphQLSource
    switch (opened, transport) {
    case (let opened?, _): source = opened
    case (nil, .webSocket): source = try await GraphQLSocket.open(client, query)
    case (nil, .serverSentEvents): source = try await GraphQLEventStream.open(client, query)
    }
    guard let data = try await source.next() else { return (nil, source) }
    return (try client.options.makeDecoder().decode(GraphQLEvent<T>.self, from: data).response, source)
  }
}

extension PrismGraphQLClient {
  /// Subscribes to an operation.
  ///
  /// ```swift
  /// for try await response in client.subscribe(query, as: Prices.self) { show(response.data) }
  /// ```
  ///
  /// - Parameters:
  ///   - query: The operation.
  ///   - type: The type of the data of each result.
  ///   - transport: The transport of the results. Defaults to a WebSocket.
  public nonisolated func subscribe<T: Decodable & Sendable>(
    _ query: PrismGraphQLQuery, as type: T.Type, over transport: PrismGraphQLTransport = .webSocket
  ) -> PrismGraphQLSubscription<T> {
    PrismGraphQLSubscription(client: self, query: query, transport: transport)
  }
}

/// A source of the results of one subscription. Releasing it ends the subscription.
protocol GraphQLSource: Sendable {
  /// Returns the next result, or the message that contains it; `nil` at the end. May only be called by one caller at a
  /// time.
  func next() async throws -> Data?
}

/// A result, either plain or as the payload of a message.
private struct GraphQLEvent<T: Decodable & Sendable>: Decodable {
  let response: PrismGraphQLResponse<T>

  private enum Key: CodingKey { case type, payload }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    response =
      container.contains(.type) && container.contains(.payload)
      ? try container.decode(PrismGraphQLResponse<T>.self, forKey: .payload)
      : try PrismGraphQLResponse(from: decoder)
  }
}
