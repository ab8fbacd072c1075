import Foundation

extension StubSession {
  /// What a ``StubSession`` replies with.
  public struct Reply: Sendable {
    /// `nil` for a failure before any response.
    var statusCode: Int?
    var headers: [String: String] = [:]
    var pieces: [Data] = []
    var failure: (any Error)?
    var delay = Duration.zero

    /// A response without a body.
    public static func status(_ statusCode: Int, headers: [String: String] = [:]) -> Reply {
      Reply(statusCode: statusCode, headers: headers)
    }

    /// A response with a body.
    public static func data(_ body: Data, status: Int = 200, headers: [String: String] = [:]) -> Reply {
      Reply(statusCode: status, headers: headers, pieces: [body])
    }

    /// A response with JSON, as it is written, and `Content-Type: application/json` unless the headers name another.
    public static func json(_ text: String, status: Int = 200, headers: [String: String] = [:]) -> Reply {
      let named = headers.keys.contains { $0.lowercased() == "content-type" }
      let headers = named ? headers : headers.merging(["Content-Type": "application/json"]) { $1 }
      return data(Data(text.utf8), status: status, headers: headers)
    }

    /// A response whose body comes in pieces, as a stream sees them.
    public static func pieces(_ pieces: [String], status: Int = 200, headers: [String: String] = [:]) -> Reply {
      Reply(statusCode: status, headers: headers, pieces: pieces.map { Data($0.utf8) })
    }

    /// An error in the place of a response, such as `URLError(.notConnectedToInternet)`.
    public static func failure(_ error: any Error) -> Reply { Reply(failure: error) }

    /// The same reply, some time after the request. A task that is cancelled does not wait for it.
    public func after(_ delay: Duration) -> Reply {
      var reply = self
      reply.delay = delay
      return reply
    }

    /// The same response, whose body breaks off after what there is of it: a stream gets the pieces first.
    public func failing(with error: any Error) -> Reply {
      var reply = self
      reply.failure = error
      return reply
    }
  }
}
