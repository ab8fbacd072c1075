import Foundation

/// The body of a request as it is sent, whatever it was made from.
struct RequestPayload {
  private enum Source {
    case none
    case data(Data)
    case stream(InputStream)
    case source(BodySource)
  }

  /// The default content type of a request and of an encodable body.
  private static let defaultContentType = "application/json"

  private let source: Source
  /// The media type, unless the request's own header fields specify one.
  let contentType: String

  /// Creates the body of a request.
  ///
  /// - Throws: ``NetworkError/conflictingBodyTypes``, ``NetworkError/invalidMultipartEncoding``, or the error of
  ///   encoding a value.
  init<T: NetworkRequest>(of request: T) throws {
    switch (request.body, request.multipartData) {
    case (nil, nil):
      // The default was not chosen by the request, and servers reject JSON of no bytes. Any other value was chosen and
      // is kept.
      self.init(.none, contentType: request.contentType == Self.defaultContentType ? "" : request.contentType)
    case (let body?, nil):
      let contentType = body.contentType
      switch body.content {
      case .encodable(let value):
        // The initializer's default was not chosen by the caller, so the request's own property decides.
        self.init(
          .data(try request.jsonEncoder.encode(value)),
          contentType: contentType == Self.defaultContentType ? request.contentType : contentType)
      case .raw(let data): self.init(.data(data), contentType: contentType)
      case .formURLEncoded(let pairs): self.init(.data(FormURLEncoding.encode(pairs)), contentType: contentType)
      case .stream(let stream):
        self.init(try body.measured().map(Source.source) ?? .stream(stream), contentType: contentType)
      }
    case (nil, let form?):
      self.init(try Self.source(of: form), contentType: "multipart/form-data; boundary=\(form.boundary)")
    case (.some, .some):
      throw NetworkError.conflictingBodyTypes
    }
  }

  /// Returns the body of a form: one buffer without files; with files it is never assembled.
  private static func source(of form: MultipartFormData) throws -> Source {
    if let data = form.encodedData() { return .data(data) }
    return .source(.segments(try form.segments()))
  }

  private init(_ source: Source, contentType: String) {
    self.source = source
    self.contentType = contentType
  }

  /// Whether the request has a body, even an empty one.
  var exists: Bool {
    if case .none = source { false } else { true }
  }

  var length: Int64? {
    switch source {
    case .data(let data): Int64(data.count)
    case .source(let source): source.length
    case .none, .stream: nil
    }
  }

  func attach(to urlRequest: inout URLRequest) {
    switch source {
    case .none: break
    case .data(let data): urlRequest.httpBody = data
    case .stream(let stream): urlRequest.httpBodyStream = stream
    case .source(let source): urlRequest.httpBodyStream = BodyInputStream(source)
    }
  }
}
