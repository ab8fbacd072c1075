import Foundation

extension LoopbackServer {
  /// The options of a server.
  public struct Options: Sendable {
    /// The port to listen on, such as that of a server that has just been stopped. Defaults to 0, for which the system
    /// selects a free port.
    public var port = 0
    /// The path of a Unix domain socket to listen on instead of a port, which is 0 then.
    public var socketPath: String?
    /// The size of the listen queue. The system may reduce it.
    public var backlog = 4096
    /// A delay before each accept; none by default.
    public var acceptDelay: Duration?
    /// A gate that must be open before connections are accepted; until then clients are connected and wait.
    public var acceptGate: Gate?
    /// The maximum number of open connections; further ones are closed at once.
    public var maximumConnections = 10_000
    /// The maximum number of recorded requests; later ones are only counted.
    public var recordLimit = 20_000
    /// The maximum number of recorded body bytes in total; a body beyond it is counted, and kept only for its handler.
    public var recordedBodyLimit = 1 << 30
    /// The largest header section in bytes; a larger one gets 431.
    public var maximumHeadSize = 1 << 20
    /// The largest body in bytes; a larger one gets 413.
    public var maximumBodySize = 1 << 30
    /// The number of requests after which a connection is closed without notice, right after the response.
    public var requestsPerConnection: Int?
    /// Whether the server responds to `Expect: 100-continue` with `100 Continue` before it reads the body.
    public var answersExpectContinue = true
    /// The size of the system's send buffer; a small one causes back-pressure early. Defaults to the system's size.
    public var sendBufferSize: Int?
    /// The size of the system's receive buffer; a small one exposes clients to back-pressure early. Defaults to the
    /// system's size.
    public var receiveBufferSize: Int?

    /// Creates the default options.
    public init() {}
  }
}
