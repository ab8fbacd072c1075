#if os(Linux)
  import Foundation
  import FoundationNetworking

  /// A request in the form that the event loop needs. It is created by the caller.
  struct PreparedRequest: Sendable {
    let url: URL
    let isSecure: Bool
    /// Whether the server may choose HTTP/2 (RFC 7301, RFC 9113 §3.2).
    let mayUseHTTP2: Bool
    let method: String
    /// The head, as it is written over HTTP/1.1.
    let head: [UInt8]
    /// Whether the connection must not be used for another request.
    let closesConnection: Bool
    let upload: (any UploadSource)?
    /// Whether the request may be sent again if its connection failed before a response began.
    let isIdempotent: Bool
    /// Whether it has an `Expect` field (RFC 9110 §10.1.1).
    let hasExpectation: Bool
    /// The number of nanoseconds without a byte in either direction after which the request times out.
    let idleTimeout: UInt64
    /// The deadline of the attempt, in nanoseconds of the event loop's clock.
    let deadline: UInt64
    /// Whose connections it may use.
    let connection: ConnectionIdentity
    /// The proxy for which the head is made, and over which its connection is opened; `nil` if there is none.
    let proxy: ProxyServer?
    /// The session and the origin whose connections are limited, and their limit.
    let session: ObjectIdentifier
    let origin: Origin
    let connectionsPerHost: Int
    let wantsTimings: Bool
    let onSend: (@Sendable (Int64, Int64?) -> Void)?
    let onReceive: (@Sendable (Int64, Int64?) -> Void)?

    /// Whether starting it takes little time, apart from opening a connection with TLS: there is no body to be read and no
    /// progress to report.
    var isQuickToStart: Bool {
      (upload == nil || upload is DataUpload) && onSend == nil && onReceive == nil
    }
  }
#endif
