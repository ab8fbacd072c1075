import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A successful response whose body is read while it arrives.
///
/// The body is read once, in one of its forms: ``chunks``, ``bytes``, ``lines(maximumLength:)``, …. Each is pulled by
/// its consumer: a loop that stops reading stops the server. Leaving the loop, by `break`, by an error or by
/// cancellation of the task, ends the exchange and closes its connection; so does dropping the response unread.
public struct StreamingResponse: Sendable {
  /// The status code, in 2xx.
  public let statusCode: Int
  /// The header fields; the values of a repeated field are joined with `", "`.
  public let headers: [String: String]

  let body: any TransportBody

  /// A response with a body of your own, for tests.
  public init(statusCode: Int, headers: [String: String], chunks: AsyncThrowingStream<Data, Error>) {
    self.init(statusCode: statusCode, headers: headers, body: StreamBody(chunks))
  }

  /// A response with a body of your own, for tests.
  public init(statusCode: Int, headers: [String: String], bytes: AsyncThrowingStream<UInt8, Error>) {
    self.init(statusCode: statusCode, headers: headers, body: StreamBody(bytes) { Data(CollectionOfOne($0)) })
  }

  init(statusCode: Int, headers: [String: String], body: any TransportBody) {
    self.statusCode = statusCode
    self.headers = headers
    self.body = body
  }

  /// The body in pieces, each handed on as soon as it arrives.
  public var chunks: AsyncThrowingStream<Data, Error> { read(ChunkParser()) }

  /// The body byte by byte, in the order of arrival.
  public var bytes: AsyncThrowingStream<UInt8, Error> { read(ByteParser()) }

  func read<Parser: StreamParser>(_ parser: Parser) -> AsyncThrowingStream<Parser.Element, Error> {
    StreamReader(body, parser: parser).stream
  }
}
