import Foundation

/// The requirements of a typed HTTP client, which ``PrismNetworkAdapter`` meets, so that tests can inject a mock.
public protocol PrismNetworkClient: Sendable {
  /// Sends a request and decodes its response. `formatter` is for dates that are not in ISO 8601.
  func request<Request: PrismNetworkRequest>(
    on request: Request, with formatter: DateFormatter?
  ) async throws -> Request.Response

  /// Sends a request and returns the target of the server's redirect, without following it.
  func redirect<Request: PrismNetworkRequest>(from request: Request) async throws -> URL
}

extension PrismNetworkClient {
  /// Sends a request whose response has no dates, or dates in ISO 8601.
  public func request<Request: PrismNetworkRequest>(on request: Request) async throws -> Request.Response {
    try await self.request(on: request, with: nil)
  }
}

/// An endpoint together with the type of its response.
public protocol PrismNetworkRequest: Sendable {
  /// The type of the endpoint.
  associatedtype Endpoint: PrismNetworkEndpoint
  /// The type of the decoded response: usually a ``PrismEntity``, or an array of them.
  associatedtype Response: Decodable & Sendable

  /// The endpoint of the request: its URL, method, header fields and body.
  var endpoint: Endpoint { get }

  /// Decodes the body of a successful response.
  ///
  /// The default decodes JSON. With a formatter, dates are strings in its format; without one, ISO 8601 strings (with
  /// or without fractional seconds) or the numbers that `JSONEncoder` writes. A `Data` response is the body unchanged;
  /// an ``EmptyResponse`` ignores the body.
  func decode(data: Data, with formatter: DateFormatter?) throws -> Response
}

extension PrismNetworkRequest {
  // The requirement documents the default.
  // swift-format-ignore: AllPublicDeclarationsHaveDocumentation
  public func decode(data: Data, with formatter: DateFormatter?) throws -> Response {
    try EntityDecoding.decode(Response.self, from: data, with: formatter)
  }
}

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
    fileprivate let start: @Sendable () async throws -> CachedLoad<Element>
    private var isFirst = true
    /// The load whose response from the network is still to follow.
    private var rest: CachedLoad<Element>?

    fileprivate init(start: @escaping @Sendable () async throws -> CachedLoad<Element>) { self.start = start }

    /// Returns the next response; `nil` after the last.
    ///
    /// Throws what the request throws. An error after a stored response only means that the network returned none.
    public mutating func next() async throws -> Element? {
      guard isFirst else {
        guard let load = rest.take() else { return nil }
        return try await PrismNetworkFailure.surfacing { try await load.fetched() }
      }
      isFirst = false
      let start = start
      let (value, followed) = try await PrismNetworkFailure.surfacing { () -> (Element, CachedLoad<Element>?) in
        let load = try await start()
        let (value, followed) = try await load.first()
        return (value, followed == nil ? nil : load)
      }
      rest = followed
      return value
    }
  }
}
