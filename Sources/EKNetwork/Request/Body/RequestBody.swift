import Foundation

/// The body of a request: its content and media type.
public struct RequestBody {
  /// The kinds of body content.
  public enum Content {
    /// A value that the request's `jsonEncoder` encodes.
    case encodable(any Encodable)
    /// Bytes that are sent unchanged.
    case raw(Data)
    /// A stream that is read once, as it is sent. It cannot be sent again.
    case stream(InputStream)
    /// Key-value pairs in the WHATWG `application/x-www-form-urlencoded` format.
    case formURLEncoded([String: String])
  }

  /// The content of the body.
  public let content: Content
  /// The value of the `Content-Type` header.
  public let contentType: String
  /// The body that is sent instead of `content`'s stream.
  private var source: Source?

  var sequence: SequenceBody? { if case .body(.sequence(let sequence))? = source { sequence } else { nil } }

  private enum Source {
    case file(URL)
    case body(BodySource)
  }

  /// Creates a body that the request's `jsonEncoder` encodes from a value.
  ///
  /// An encoding failure is thrown by `send` before anything is sent.
  public init(encodable: any Encodable, contentType: String = "application/json") {
    content = .encodable(encodable)
    self.contentType = contentType
  }

  /// Creates a body of JSON, which can be a literal, and is encoded as in ``init(encodable:contentType:)``.
  ///
  /// ```swift
  /// RequestBody(json: ["model": "small", "stream": true, "messages": [["role": "user", "content": "Hello"]]])
  /// ```
  public init(json: JSONValue, contentType: String = "application/json") {
    self.init(encodable: json, contentType: contentType)
  }

  /// Creates a body of bytes that are sent unchanged.
  public init(data: Data, contentType: String) {
    content = .raw(data)
    self.contentType = contentType
  }

  /// Creates a body that is read from a stream as it is sent, for uploads that do not fit in memory.
  ///
  /// The stream is read once. If a retry, a token refresh or a redirect needs it again, the error that caused it is
  /// thrown. A retry and a token refresh can use another stream, if `body` creates one each time.
  public init(stream: InputStream, contentType: String) {
    content = .stream(stream)
    self.contentType = contentType
  }

  /// Creates a body that is read once from a stream of known length, and sent with `Content-Length`.
  ///
  /// - Parameters:
  ///   - stream: As for ``init(stream:contentType:)``.
  ///   - contentType: The media type.
  ///   - length: The number of bytes in the stream. If it differs,
  ///     ``RequestBodyError/lengthMismatch(declared:actual:)`` is thrown, and the last bytes are not sent.
  public init(stream: InputStream, contentType: String, length: Int64) {
    content = .stream(stream)
    self.contentType = contentType
    source = .body(.stream(SizedStream(stream: stream, length: max(0, length))))
  }

  /// Creates a body from a file, which is read as it is sent and never held in memory. Its exact length is announced.
  ///
  /// The file is checked when the request is sent: if it is missing, unreadable or not a regular file, a
  /// ``RequestBodyError`` is thrown before anything is sent, and likewise if its size changes meanwhile. Each retry,
  /// token refresh and redirect that keeps the body reads it again.
  public init(file: URL, contentType: String) {
    content = .stream(InputStream(url: file) ?? InputStream(data: Data()))
    self.contentType = contentType
    source = .file(file)
  }

  /// Creates a body that is pulled from an asynchronous sequence, one element at a time, as it is sent.
  ///
  /// The sequence is iterated once, and released when the request ends or is cancelled. `send` rethrows its errors. If
  /// a retry, a token refresh or a redirect needs it again, the error that caused it is thrown, even if `body` creates a
  /// new sequence each time, because the library cannot detect whether a sequence has already been consumed. A file can
  /// be sent again.
  ///
  /// - Parameters:
  ///   - sequence: The body's bytes.
  ///   - contentType: The media type.
  ///   - length: The number of bytes, if known: it is announced with `Content-Length`. If it differs,
  ///     ``RequestBodyError/lengthMismatch(declared:actual:)`` is thrown and the last element is not sent. Defaults to
  ///     `nil`: the body is sent in chunks (RFC 9112 §7.1).
  public init<S: AsyncSequence & Sendable>(
    sequence: S, contentType: String, length: Int64? = nil
  ) where S.Element: DataProtocol {
    self.init(SequenceBody(sequence, length: length.map { max(0, $0) }), contentType: contentType)
  }

  /// Creates a body that is pulled from a new asynchronous sequence each time it is sent: for a retry, a token refresh,
  /// a redirect that keeps the body, or after a lost connection.
  ///
  /// ```swift
  /// RequestBody(contentType: "application/x-ndjson") { database.records() }
  /// ```
  ///
  /// - Parameters:
  ///   - contentType: The media type.
  ///   - length: The number of bytes, if known, as for ``init(sequence:contentType:length:)``. Defaults to `nil`.
  ///   - makeSequence: Returns a new sequence of the same bytes. It may be called on any thread, and must not block.
  public init<S: AsyncSequence & Sendable>(
    contentType: String, length: Int64? = nil, makeSequence: @escaping @Sendable () -> S
  ) where S.Element: DataProtocol {
    self.init(SequenceBody(length: length.map { max(0, $0) }, makeSequence: makeSequence), contentType: contentType)
  }

  /// Creates a body that is pulled from an asynchronous sequence, sent in chunks, and followed by trailer fields
  /// (RFC 9110 §6.5): a checksum, for example, which is known once the last byte is.
  ///
  /// Over HTTP/1.1 and HTTP/2 on Linux. A `URLSession`, which performs the requests on Apple's platforms, and every injected
  /// session cannot send them: ``TransportOptionError`` is thrown before anything is sent.
  ///
  /// - Parameters:
  ///   - sequence: The body's bytes, as for ``init(sequence:contentType:length:)``.
  ///   - contentType: The media type.
  ///   - trailers: Returns the fields. It is called when the sequence has ended, and `send` rethrows its errors; the server
  ///     then does not receive the end of the body. A field that RFC 9110 §6.5.1 forbids there is an ``InvalidHeaderError``.
  public init<S: AsyncSequence & Sendable>(
    sequence: S, contentType: String, trailers: @escaping @Sendable () async throws -> HeaderFieldList
  ) where S.Element: DataProtocol {
    self.init(SequenceBody(sequence, length: nil, trailers: trailers), contentType: contentType)
  }

  /// Creates a body that is pulled from a new asynchronous sequence each time it is sent, and followed by trailer fields.
  ///
  /// ```swift
  /// RequestBody(contentType: "application/x-ndjson", trailers: { ["Digest": database.digest] }) { database.records() }
  /// ```
  ///
  /// - Parameters:
  ///   - contentType: The media type.
  ///   - trailers: As for ``init(sequence:contentType:trailers:)``, once for each time that the body is sent.
  ///   - makeSequence: As for ``init(contentType:length:makeSequence:)``.
  public init<S: AsyncSequence & Sendable>(
    contentType: String, trailers: @escaping @Sendable () async throws -> HeaderFieldList,
    makeSequence: @escaping @Sendable () -> S
  ) where S.Element: DataProtocol {
    self.init(SequenceBody(length: nil, trailers: trailers, makeSequence: makeSequence), contentType: contentType)
  }

  private init(_ body: SequenceBody, contentType: String) {
    self.init(source: .sequence(body), contentType: contentType)
  }

  init(source body: BodySource, contentType: String) {
    content = .stream(BodyInputStream(body))
    self.contentType = contentType
    source = .body(body)
  }

  /// Creates a form in the WHATWG `application/x-www-form-urlencoded` format. Pairs are sent sorted by key.
  public init(formURLEncoded parameters: [String: String]) {
    content = .formURLEncoded(parameters)
    contentType = "application/x-www-form-urlencoded"
  }

  /// Creates a form in the same format whose pairs are sent in this order; names may be repeated. Its ``content`` is the
  /// encoded form.
  public init(formURLEncoded items: [URLQueryItem]) {
    self.init(data: FormURLEncoding.encode(items), contentType: "application/x-www-form-urlencoded")
  }

  /// Whether a new body like this one can be sent from its start, after another was sent: it is replayable, or is a
  /// stream that has not been opened.
  ///
  /// A sequence is not, although this body has not begun to iterate it: it may be the one that the other body has used
  /// up, and what is left of it would look like a complete body to the server.
  var isReplayable: Bool {
    switch (source, content) {
    case (.file?, _), (.body(.segments)?, _): true
    case (.body(.sequence(let sequence))?, _): sequence.isReplayable
    case (_, .stream(let stream)): stream.streamStatus == .notOpen
    default: true
    }
  }

  /// Returns the body that is sent instead of a stream; the size of a file is determined now.
  func measured() throws -> BodySource? {
    switch source {
    case .file(let url): .segments([.file(try FileSegment(url))])
    case .body(let body): body
    case nil: nil
    }
  }
}

/// An error of a request body that cannot be sent as announced. It is never retried.
public enum RequestBodyError: NonRetriableError, ClassifiedError, LocalizedError, Equatable, Sendable {
  /// There is no file of that name, or the URL is not a file URL.
  case fileNotFound(URL)
  /// The URL refers to a directory, a pipe, a device or a socket, which has no known length.
  case notARegularFile(URL)
  /// The file cannot be opened or read. `code` is the system's `errno`.
  case fileNotReadable(URL, code: Int32)
  /// The size of the file changed since the request began, or it was replaced or written to. Nothing was sent that the
  /// server could mistake for the complete body.
  case fileChanged(URL, announced: Int64, actual: Int64)
  /// A stream or sequence produced a different number of bytes than declared. If it produced too many, `actual` is the
  /// count at which that was detected.
  case lengthMismatch(declared: Int64, actual: Int64)
  /// A one-shot sequence was already consumed by an earlier request.
  case alreadySent

  /// A description of the problem, with the name of the file.
  public var errorDescription: String? {
    switch self {
    case .fileNotFound(let url): "There is no file \(Self.name(url))"
    case .notARegularFile(let url): "\(Self.name(url)) is not a regular file"
    case .fileNotReadable(let url, let code):
      "The file \(Self.name(url)) cannot be read: \(String(cString: strerror(code)))"
    case .fileChanged(let url, let announced, let actual) where announced == actual:
      "The file \(Self.name(url)) was written to while it was sent"
    case .fileChanged(let url, let announced, let actual):
      "The file \(Self.name(url)) changed while it was sent: \(announced) bytes were announced, it has \(actual)"
    case .lengthMismatch(let declared, let actual):
      "The body has \(actual) bytes, of \(declared) that were declared"
    case .alreadySent: "The body's sequence was sent before and cannot be sent again"
    }
  }

  private static func name(_ url: URL) -> String { url.isFileURL ? url.path : url.absoluteString }

  /// A later request may be able to read the file: too many files were open, or it was being written. The same request
  /// is not sent again.
  var failureKind: FailureKind {
    switch self {
    case .fileChanged: .unclear
    case .fileNotReadable(_, let code):
      [EACCES, ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG].contains(code) ? .permanent : .unclear
    case .fileNotFound, .notARegularFile, .lengthMismatch, .alreadySent: .permanent
    }
  }
}
