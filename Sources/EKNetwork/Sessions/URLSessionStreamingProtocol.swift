import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The call that the library makes on an injected streaming session. A mock implements either of the two methods: each
/// has a default in terms of the other.
public protocol URLSessionStreamingProtocol: Sendable {
  /// Sends the request and returns as soon as the response head is there; the body follows byte by byte.
  func byteStream(for request: URLRequest) async throws -> (AsyncThrowingStream<UInt8, Error>, URLResponse)
  /// Sends the request and returns as soon as the response head is there; the body follows in chunks, as it arrives.
  func dataStream(for request: URLRequest) async throws -> (AsyncThrowingStream<Data, Error>, URLResponse)
}

/// Whether one of the defaults is running: the other must not call it back, or a session that implements neither
/// would run out of stack.
private enum DerivedStream {
  @TaskLocal static var isRunning = false
}

extension URLSessionStreamingProtocol {
  /// The bytes of ``dataStream(for:)``. A session that implements neither throws ``StreamingError/invalidResponse``.
  public func byteStream(for request: URLRequest) async throws -> (AsyncThrowingStream<UInt8, Error>, URLResponse) {
    guard !DerivedStream.isRunning else { throw StreamingError.invalidResponse }
    let (chunks, response) = try await DerivedStream.$isRunning.withValue(true) { try await dataStream(for: request) }
    return (StreamingBody(AsyncSequenceBody(chunks)).byteStream, response)
  }

  /// The bytes of ``byteStream(for:)``, a chunk for each: they cannot be gathered without making some of them wait.
  /// A session that implements neither throws ``StreamingError/invalidResponse``.
  public func dataStream(for request: URLRequest) async throws -> (AsyncThrowingStream<Data, Error>, URLResponse) {
    guard !DerivedStream.isRunning else { throw StreamingError.invalidResponse }
    let (bytes, response) = try await DerivedStream.$isRunning.withValue(true) { try await byteStream(for: request) }
    return (StreamingBody(AsyncSequenceBody(bytes) { Data(CollectionOfOne($0)) }).chunks.stream, response)
  }
}

extension URLSession: URLSessionStreamingProtocol {
  /// Sends the request as ``NetworkManager`` does, following redirects; the body is pulled as it is read.
  ///
  /// Throws `URLError`, or `CancellationError` when the task is cancelled.
  public func dataStream(for request: URLRequest) async throws -> (AsyncThrowingStream<Data, Error>, URLResponse) {
    let exchange = Exchange(transport: TransportSelection.transport(for: self))
    let response = try await exchange.open(request, collectsBody: false)
    return (StreamingBody(response.body).chunks.stream, response.head.urlResponse)
  }
}
