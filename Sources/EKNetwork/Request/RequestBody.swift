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

  /// A form in the WHATWG `application/x-www-form-urlencoded` format. Pairs are sent sorted by key.
  public init(formURLEncoded parameters: [String: String]) {
    content = .formURLEncoded(parameters)
    contentType = "application/x-www-form-urlencoded"
  }
}
