import Foundation

extension StubSession {
  /// A reply of a ``StubSession``.
  public struct Reply: Sendable {
    /// `nil` for a failure before any response.
    var statusCode: Int?
    var headers: [String: String] = [:]
    var pieces: [Data] = []
    var failure: (any Error)?
    var delay = Duration.zero

    /// Returns a response without a body.
    public static func status(_ statusCode: Int, headers: [String: String] = [:]) -> Reply {
      Reply(statusCode: statusCode, headers: headers)
    }

    /// Returns a response with a body.
    public static func data(_ body: Data, status: Int = 200, headers: [String: String] = [:]) -> Reply {
      Reply(statusCode: status, headers: headers, pieces: [body])
    }

    /// Returns a response with a JSON text, and `Content-Type: application/json` unless the headers contain another.
    public static func json(_ text: String, status: Int = 200, headers: [String: String] = [:]) -> Reply {
      let named = headers.keys.contains { $0.lowercased() == "content-type" }
      let headers = named ? headers : headers.merging(["Content-Type": "application/json"]) { $1 }
      return data(Data(text.utf8), status: status, headers: headers)
    }

    /// Returns a response whose body arrives in pieces, as a stream receives them.
    public static func pieces(_ pieces: [String], status: Int = 200, headers: [String: String] = [:]) -> Reply {
      Reply(statusCode: status, headers: headers, pieces: pieces.map { Data($0.utf8) })
    }

    /// Returns an error instead of a response, such as `URLError(.notConnectedToInternet)`.
    public static func failure(_ error: any Error) -> Reply { Reply(failure: error) }

    /// Returns the same reply, delayed. A task that is cancelled does not wait for it.
    public func after(_ delay: Duration) -> Reply {
      var reply = self
      reply.delay = delay
      return reply
    }

    /// Returns the same response, whose body fails after its last piece: a stream receives the pieces first.
    public func failing(with error: any Error) -> Reply {
      var reply = self
      reply.failure = error
      return reply
    }
  }
}
