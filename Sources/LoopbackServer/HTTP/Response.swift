import Foundation

extension LoopbackServer {
  /// A response: a well-formed one built from parts, or steps with arbitrary, even invalid, behaviour.
  public struct Response: Sendable {
    /// The content after the head.
    enum Body: Sendable {
      case empty
      case data(Data)
      case chunks([Data], trailers: HeaderFields)
      /// Data without a length, which ends with the connection.
      case untilClose(Data)
      /// Steps after a regular head.
      case steps([Step])
      /// Steps instead of a head.
      case raw([Step])
      /// The connection is passed to the closure after the head.
      case upgrade(@Sendable (ByteStream) -> Void)
    }

    /// The handling of the connection after the response.
    public enum Ending: Sendable {
      /// The connection stays open for the next request, unless the client requested `close`.
      case keepAlive
      /// The connection is closed, and `Connection: close` is sent.
      case close
      /// The connection is closed without notice (FIN), as a restarted server closes an idle one.
      case closeSilently
      /// The connection is reset (RST) without notice.
      case reset
      /// The next request is read and recorded, then the connection is closed without a response.
      case closeOnNextRequest
    }

    /// The status code.
    public var status: Int
    /// The reason phrase; `nil` for the standard one.
    public var reason: String?
    /// The header fields, in the order in which they are sent. A `Content-Length`, `Transfer-Encoding` or `Connection`
    /// given here is sent unchanged, even if it is wrong.
    public var headers: HeaderFields
    /// The handling of the connection afterwards.
    public var ending = Ending.keepAlive
    /// The informational responses (1xx) sent before this one: status and fields.
    public var interim: [(status: Int, headers: HeaderFields)] = []
    var body: Body

    init(status: Int, headers: HeaderFields = [:], body: Body) {
      self.status = status
      self.headers = headers
      self.body = body
    }

    /// Returns a response with a status and fields, and an empty body.
    public static func status(_ status: Int, headers: HeaderFields = [:]) -> Response {
      Response(status: status, headers: headers, body: .empty)
    }

    /// Returns a response with plain text in UTF-8.
    public static func text(_ text: String, status: Int = 200, headers: HeaderFields = [:]) -> Response {
      data(Data(text.utf8), contentType: "text/plain; charset=utf-8", status: status, headers: headers)
    }

    /// Returns a response with a JSON text.
    public static func json(_ text: String, status: Int = 200, headers: HeaderFields = [:]) -> Response {
      data(Data(text.utf8), contentType: "application/json", status: status, headers: headers)
    }

    /// Returns a response with a value encoded as JSON, or a 500 if it cannot be encoded.
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

    /// Returns a response with bytes and a `Content-Length`. If `contentType` is `nil`, no `Content-Type` is sent.
    public static func data(
      _ data: Data, contentType: String? = "application/octet-stream", status: Int = 200, headers: HeaderFields = [:]
    ) -> Response {
      var fields = headers
      if let contentType, fields["Content-Type"] == nil { fields.append("Content-Type", contentType) }
      return Response(status: status, headers: fields, body: .data(data))
    }

    /// Returns a redirect to `location`, which is sent unchanged.
    public static func redirect(to location: String, status: Int = 302, headers: HeaderFields = [:]) -> Response {
      var fields = headers
      fields.append("Location", location)
      return Response(status: status, headers: fields, body: .empty)
    }

    /// Returns a response with a chunked body, one chunk per part, followed by trailer fields. Empty parts are left
    /// out.
    public static func chunked(
      _ parts: [Data], trailers: HeaderFields = [:], status: Int = 200, headers: HeaderFields = [:]
    ) -> Response {
      Response(status: status, headers: headers, body: .chunks(parts, trailers: trailers))
    }

    /// Returns a response with a body without a length, which ends with the connection (RFC 9112, section 6.3).
    public static func untilClose(_ data: Data, status: Int = 200, headers: HeaderFields = [:]) -> Response {
      Response(status: status, headers: headers, body: .untilClose(data)).then(.close)
    }

    /// Returns a response with a regular head, then steps that send the body. With a `contentLength`, `Content-Length`
    /// is sent and the steps should send that many bytes; without one the body is chunked and the steps use
    /// ``Step/chunk(_:)`` and ``Step/endOfChunks(trailers:)``.
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

    /// Returns a response made only of steps: nothing else is sent. Afterwards the connection is closed, unless changed
    /// with `.then(.keepAlive)`.
    public static func raw(_ steps: [Step]) -> Response {
      Response(status: 0, body: .raw(steps)).then(.closeSilently)
    }

    /// Returns a response of exactly this text, after which the connection is closed.
    public static func raw(_ text: String) -> Response { raw([.sendString(text)]) }

    /// Returns a response with a head, by default `101 Switching Protocols`, after which the closure has exclusive use
    /// of the connection. The closure runs on the connection's thread, and the connection is closed when it returns.
    public static func upgrade(
      status: Int = 101, headers: HeaderFields = [:], _ takeOver: @escaping @Sendable (ByteStream) -> Void
    ) -> Response {
      Response(status: status, headers: headers, body: .upgrade(takeOver))
    }

    /// Returns the same response with another ending.
    public func then(_ ending: Ending) -> Response {
      var copy = self
      copy.ending = ending
      return copy
    }

    /// Returns the same response with one more header field.
    public func header(_ name: String, _ value: String) -> Response {
      var copy = self
      copy.headers.append(name, value)
      return copy
    }

    /// Returns the same response with an informational response (1xx) before it.
    public func preceded(by status: Int, headers: HeaderFields = [:]) -> Response {
      var copy = self
      copy.interim.append((status, headers))
      return copy
    }
  }
}
