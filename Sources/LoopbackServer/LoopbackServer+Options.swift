import Foundation

extension LoopbackServer {
  /// How a server behaves as a whole.
  public struct Options: Sendable {
    /// The port to listen on, such as that of a server that has just been stopped; 0, the default, leaves the choice to the
    /// system.
    public var port = 0
    /// How many connections the system holds ready before they are accepted. The system may hold fewer.
    public var backlog = 4096
    /// A pause before every acceptance; none by default.
    public var acceptDelay: Duration?
    /// Nothing is accepted before this gate is open: clients are connected, and wait.
    public var acceptGate: Gate?
    /// How many connections may be open; one more is closed at once.
    public var maximumConnections = 10_000
    /// How many requests are kept on record; later ones are only counted.
    public var recordLimit = 20_000
    /// How many bytes of bodies are kept on record in all; a later body is counted, and kept for its handler only.
    public var recordedBodyLimit = 1 << 30
    /// The largest header section in bytes; a larger one gets 431.
    public var maximumHeadSize = 1 << 20
    /// The largest body in bytes; a larger one gets 413.
    public var maximumBodySize = 1 << 30
    /// After so many requests on a connection it is closed without a word, right after the response.
    public var requestsPerConnection: Int?
    /// Whether `Expect: 100-continue` is answered with `100 Continue` before the body is read.
    public var answersExpectContinue = true
    /// The size of the system's send buffer; a small one shows back-pressure early. The system's choice by default.
    public var sendBufferSize: Int?
    /// The size of the system's receive buffer; a small one makes clients feel back-pressure early.
    public var receiveBufferSize: Int?

    /// The defaults; set what should differ.
    public init() {}
  }
}
