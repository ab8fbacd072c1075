import Foundation

extension LoopbackServer {
  /// A response: a well-formed one made from parts, or steps that do to the client whatever a test needs.
  public struct Response: Sendable {
    /// What follows the head.
    enum Body: Sendable {
      case empty
      case data(Data)
      case chunks([Data], trailers: HeaderFields)
      /// Data without a length: its end is the end of the connection.
      case untilClose(Data)
      /// Steps after an ordinary head.
      case steps([Step])
      /// Steps instead of a head.
      case raw([Step])
      /// The connection is handed over after the head.
      case upgrade(@Sendable (ByteStream) -> Void)
    }

    /// What becomes of the connection after the response.
    public enum Ending: Sendable {
      /// It stays open for the next request, unless the client asked for `close`.
      case keepAlive
      /// It is closed, and `Connection: close` says so.
      case close
      /// It is closed without a word (FIN), as an idle connection is by a server that has restarted.
      case closeSilently
      /// It is reset (RST) without a word.
      case reset
      /// The next request is read and recorded, then the connection is closed instead of responding.
      case closeOnNextRequest
    }

    /// The status code.
    public var status: Int
    /// The reason phrase; `nil` stands for the usual one.
    public var reason: String?
    /// The header fields, in the order in which they are sent. A `Content-Length`, `Transfer-Encoding` or
    /// `Connection` given here is sent as it is, also when it lies.
    public var headers: HeaderFields
    /// What becomes of the connection afterwards.
    public var ending = Ending.keepAlive
    /// Informational responses (1xx) sent before this one: status and fields.
    public var interim: [(status: Int, headers: HeaderFields)] = []
    var body: Body

    init(status: Int, headers: HeaderFields = [:], body: Body) {
      self.status = status
      self.headers = headers
      self.body = body
    }

    /// Only a status and fields, with an empty body.
    public static func status(_ status: Int, headers: HeaderFields = [:]) -> Response {
      Response(status: status, headers: headers, body: .empty)
    }

    /// Plain text in UTF-8.
    public static func text(_ text: String, status: Int = 200, headers: HeaderFields = [:]) -> Response {
      data(Data(text.utf8), contentType: "text/plain; charset=utf-8", status: status, headers: headers)
    }

    /// JSON, already written.
    public static func json(_ text: String, status: Int = 200, headers: HeaderFields = [:]) -> Response {
      data(Data(text.utf8), contentType: "application/json", status: status, headers: headers)
    }

    /// A value, encoded as JSON; one that cannot be encoded gets 500.
    public static func json(
      _ value: some Encodable, status: Int = 200, headers: HeaderFields = [:]
    ) -> Response {
      do {
        let encoded = try JSONEncoder().encode(value)
        return data(encoded, contentType: "application/json", status: status, headers: headers)
      } catch {
        return text("The response cannot be encoded: \(error)", status: 500)
      }
    }

    /// Bytes with a `Content-Length`. Without a content type no `Content-Type` is sent.
    public static func data(
      _ data: Data, contentType: String? = "application/octet-stream", status: Int = 200, headers: HeaderFields = [:]
    ) -> Response {
      var fields = headers
      if let contentType, fields["Content-Type"] == nil { fields.append("Content-Type", contentType) }
      return Response(status: status, headers: fields, body: .data(data))
    }

    /// A redirection to `location`, which is sent as it is.
    public static func redirect(to location: String, status: Int = 302, headers: HeaderFields = [:]) -> Response {
      var fields = headers
      fields.append("Location", location)
      return Response(status: status, headers: fields, body: .empty)
    }

    /// A chunked body, one chunk a part, with trailer fields behind it. Empty parts are left out.
    public static func chunked(
      _ parts: [Data], trailers: HeaderFields = [:], status: Int = 200, headers: HeaderFields = [:]
    ) -> Response {
      Response(status: status, headers: headers, body: .chunks(parts, trailers: trailers))
    }

    /// A body without a length: it ends with the connection (RFC 9112, section 6.3).
    public static func untilClose(_ data: Data, status: Int = 200, headers: HeaderFields = [:]) -> Response {
      Response(status: status, headers: headers, body: .untilClose(data)).then(.close)
    }

    /// An ordinary head, then steps that make the body. With a length `Content-Length` is sent and the steps send
    /// that many bytes, or not; without one the body is chunked and the steps use ``Step/chunk(_:)`` and
    /// ``Step/endOfChunks(trailers:)``.
    public static func streaming(
      contentLength: Int? = nil, status: Int = 200, headers: HeaderFields = [:], _ steps: [Step]
    ) -> Response {
      var fields = headers
      if let contentLength {
        fields.append("Content-Length", String(contentLength))
      } else if fields["Transfer-Encoding"] == nil, fields["Content-Length"] == nil {
        fields.append("Transfer-Encoding", "chunked")
      }
      return Response(status: status, headers: fields, body: .steps(steps))
    }

    /// Only steps: nothing is sent that they do not send. Afterwards the connection is closed, unless
    /// `.then(.keepAlive)` says otherwise.
    public static func raw(_ steps: [Step]) -> Response {
      Response(status: 0, body: .raw(steps)).then(.closeSilently)
    }

    /// These very bytes, then the connection is closed.
    public static func raw(_ text: String) -> Response { raw([.sendString(text)]) }

    /// A head, by default `101 Switching Protocols`; then the closure has the connection to itself. It runs on the
    /// connection's thread, and the connection is closed when it returns.
    public static func upgrade(
      status: Int = 101, headers: HeaderFields = [:], _ takeOver: @escaping @Sendable (ByteStream) -> Void
    ) -> Response {
      Response(status: status, headers: headers, body: .upgrade(takeOver))
    }

    /// The same response with another ending.
    public func then(_ ending: Ending) -> Response {
      var copy = self
      copy.ending = ending
      return copy
    }

    /// The same response with one more header field.
    public func header(_ name: String, _ value: String) -> Response {
      var copy = self
      copy.headers.append(name, value)
      return copy
    }

    /// The same response with an informational response (1xx) before it.
    public func preceded(by status: Int, headers: HeaderFields = [:]) -> Response {
      var copy = self
      copy.interim.append((status, headers))
      return copy
    }
  }
}
