import Foundation

/// The body of a request: its content and the media type that is announced for it.
public struct RequestBody {
  /// What the body is made of.
  public enum Content {
    /// A value that the request's `jsonEncoder` encodes.
    case encodable(any Encodable)
    /// Bytes that are sent as they are.
    case raw(Data)
    /// A stream that is read once, as the server takes it. It cannot be sent a second time.
    case stream(InputStream)
    /// Key-value pairs in the WHATWG `application/x-www-form-urlencoded` format.
    case formURLEncoded([String: String])
  }

  /// What the body is made of.
  public let content: Content
  /// The value of the `Content-Type` header.
  public let contentType: String
  /// What is sent in the place of `content`'s stream.
  private var source: Source?

  private enum Source {
    case file(URL)
    case sized(SizedStream)
    case sequence(SequenceBody)
    case replayable(BodySource)
  }

  /// A body that the request's `jsonEncoder` makes from a value.
  ///
  /// An encoding failure is thrown by `send` before anything is sent.
  public init(encodable: any Encodable, contentType: String = "application/json") {
    content = .encodable(encodable)
    self.contentType = contentType
  }

  /// A body of bytes that are sent as they are.
  public init(data: Data, contentType: String) {
    content = .raw(data)
    self.contentType = contentType
  }

  /// A body that is read from a stream as the server takes it, for uploads that do not fit in memory.
  ///
  /// The stream is read once. A retry, a token refresh or a redirect that would need it a second time ends with the
  /// error that called for it.
  public init(stream: InputStream, contentType: String) {
    content = .stream(stream)
    self.contentType = contentType
  }

  /// A body that is read once from a stream whose length is known, and which is announced with `Content-Length`.
  ///
  /// - Parameters:
  ///   - stream: As for ``init(stream:contentType:)``.
  ///   - contentType: The media type.
  ///   - length: The number of its bytes. Another number is ``RequestBodyError/lengthMismatch(declared:actual:)``, and
  ///     the server is not given the last of them.
  public init(stream: InputStream, contentType: String, length: Int64) {
    content = .stream(stream)
    self.contentType = contentType
    source = .sized(SizedStream(stream: stream, length: max(0, length)))
  }

  /// A file, read as the server takes it and never held in memory. Announced with its exact length.
  ///
  /// The file is looked at when the request is sent: one that is missing or unreadable, or no regular file, is a
  /// ``RequestBodyError`` before anything is sent, and so is one whose size changes meanwhile. Each retry, token refresh
  /// and redirect that keeps the body reads it again.
  public init(file: URL, contentType: String) {
    content = .stream(InputStream(url: file) ?? InputStream(data: Data()))
    self.contentType = contentType
    source = .file(file)
  }

  /// A body that is pulled from an asynchronous sequence, one element at a time, as the server takes it.
  ///
  /// The sequence is iterated once, and let go of when the request ends or is cancelled. What it throws, `send` throws.
  /// A retry, a token refresh or a redirect that would need it a second time ends with the error that called for it.
  ///
  /// - Parameters:
  ///   - sequence: The body's bytes.
  ///   - contentType: The media type.
  ///   - length: The number of bytes, if it is known: it is announced with `Content-Length`, and another number is
  ///     ``RequestBodyError/lengthMismatch(declared:actual:)``; the server is not given the last element then. Defaults
  ///     to `nil`: the body is sent in chunks (RFC 9112 §7.1).
  public init<S: AsyncSequence & Sendable>(
    sequence: S, contentType: String, length: Int64? = nil
  ) where S.Element: DataProtocol {
    let body = SequenceBody(sequence, length: length.map { max(0, $0) })
    content = .stream(BodyInputStream(.sequence(body)))
    self.contentType = contentType
    source = .sequence(body)
  }

  /// A body that was made before and starts from the beginning each time.
  init(replayable body: BodySource, contentType: String) {
    content = .stream(BodyInputStream(body))
    self.contentType = contentType
    source = .replayable(body)
  }

  /// A form in the WHATWG `application/x-www-form-urlencoded` format. Pairs are sent sorted by key.
  public init(formURLEncoded parameters: [String: String]) {
    content = .formURLEncoded(parameters)
    contentType = "application/x-www-form-urlencoded"
  }

  /// Whether it can be sent from its start: reading has not begun, or it starts from the beginning each time.
  var isReplayable: Bool {
    switch (source, content) {
    case (.file?, _), (.replayable?, _): true
    case (.sequence(let body)?, _): !body.isStarted
    case (_, .stream(let stream)): stream.streamStatus == .notOpen
    default: true
    }
  }

  /// What is sent in the place of a stream; a file has the size of this moment.
  func measured() throws -> BodySource? {
    switch source {
    case .file(let url): .segments([.file(try FileSegment(url))])
    case .sized(let stream): .stream(stream)
    case .sequence(let body): .sequence(body)
    case .replayable(let body): body
    case nil: nil
    }
  }
}
