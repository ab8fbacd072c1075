import Foundation

/// The only method that the library calls on an injected session. Mocks in tests conform to it.
public protocol URLSessionProtocol {
  /// Loads a request. It is not called on the actor that called `send`, but on the actor of the conforming type, or on
  /// any thread. State that a plain class keeps for its test must be synchronised if several requests use it at once.
  func data(for request: URLRequest) async throws -> (Data, URLResponse)
}

extension URLSession: URLSessionProtocol {
  /// Loads a request as ``NetworkManager`` does, following redirects.
  ///
  /// This implements `data(for:)` of ``URLSessionProtocol`` for `URLSession`. It has a name of its own, so that
  /// `URLSession.shared.data(for:)` in your code is still Foundation's.
  ///
  /// Throws `URLError`, also if the body of an error response breaks off, or `CancellationError` when the task is
  /// cancelled.
  @_implements(URLSessionProtocol,data(for:))
  public func loadThroughEKNetwork(_ request: URLRequest) async throws -> (Data, URLResponse) {
    try await Exchange(transport: TransportSelection.transport(for: self)).data(for: request)
  }
}

/// The methods that the library calls on an injected streaming session. A mock implements one of the two: each has a
/// default implementation in terms of the other.
public protocol URLSessionStreamingProtocol: Sendable {
  /// Sends the request and returns as soon as the response head has arrived; the body follows byte by byte.
  func byteStream(for request: URLRequest) async throws -> (AsyncThrowingStream<UInt8, Error>, URLResponse)
  /// Sends the request and returns as soon as the response head has arrived; the body follows in chunks, as it arrives.
  func dataStream(for request: URLRequest) async throws -> (AsyncThrowingStream<Data, Error>, URLResponse)
}

/// The default implementations that are running, by conforming type: in a type that implements neither method, each
/// would call the other until the stack overflows.
///
/// Identified by type and method, because a session may wrap another, of the same type or not: the default of one
/// method never runs inside that of the other if the type implements one of them.
private struct RunningDefault: Hashable {
  @TaskLocal static var all: Set<RunningDefault> = []

  enum Method {
    case byteStream
    case dataStream
  }

  let type: ObjectIdentifier
  let method: Method

  /// Runs `body` as the default of `method`, unless it was called by the default of `other`.
  static func run<Success>(
    _ method: Method, insteadOf other: Method, of type: Any.Type, body: () async throws -> Success
  ) async throws -> Success {
    let type = ObjectIdentifier(type)
    guard !all.contains(RunningDefault(type: type, method: other)) else { throw StreamingError.invalidResponse }
    return try await $all.withValue(all.union([RunningDefault(type: type, method: method)]), operation: body)
  }
}

extension URLSessionStreamingProtocol {
  /// Returns the bytes of ``dataStream(for:)``. A session that implements neither method throws
  /// ``StreamingError/invalidResponse``.
  public func byteStream(for request: URLRequest) async throws -> (AsyncThrowingStream<UInt8, Error>, URLResponse) {
    let (chunks, response) = try await RunningDefault.run(.byteStream, insteadOf: .dataStream, of: Self.self) {
      try await dataStream(for: request)
    }
    return (StreamingBody(ChunkStreamBody(chunks)).byteStream, response)
  }

  /// Returns the bytes of ``byteStream(for:)``: each chunk consists of those that have arrived, and none is delayed. A
  /// session that implements neither method throws ``StreamingError/invalidResponse``.
  public func dataStream(for request: URLRequest) async throws -> (AsyncThrowingStream<Data, Error>, URLResponse) {
    let (bytes, response) = try await RunningDefault.run(.dataStream, insteadOf: .byteStream, of: Self.self) {
      try await byteStream(for: request)
    }
    return (StreamingBody(ByteStreamBody(bytes)).chunks.stream, response)
  }
}

extension URLSession: URLSessionStreamingProtocol {
  /// Sends the request as ``NetworkManager`` does, following redirects; the body is received only as it is read.
  ///
  /// Throws `URLError`, or `CancellationError` when the task is cancelled.
  public func dataStream(for request: URLRequest) async throws -> (AsyncThrowingStream<Data, Error>, URLResponse) {
    let exchange = Exchange(transport: TransportSelection.transport(for: self))
    let response = try await exchange.open(HTTPRequest(request), collectsBody: false)
    return (StreamingBody(response.body).chunks.stream, response.head.urlResponse)
  }
}
