#if os(Linux)
  import Foundation
  import FoundationNetworking

  /// A request in the form that libcurl takes. Made on the caller's side, read by the event loop.
  struct CurlRequest: Sendable {
    let url: URL
    let isSecure: Bool
    /// Whether the server may choose HTTP/2 (RFC 7301, RFC 9113 §3.2).
    let mayUseHTTP2: Bool
    let method: String
    let headerLines: CurlHeaderLines
    let upload: (any UploadSource)?
    /// Whether the request may be sent again when its connection died before a response began.
    let isIdempotent: Bool
    /// Whether it has `Expect` (RFC 9110 §10.1.1).
    let hasExpectation: Bool
    /// Nanoseconds without a byte in either direction after which the server is given up.
    let idleTimeout: UInt64
    /// The end of the attempt, in nanoseconds of the event loop's clock.
    let deadline: UInt64
    let pool: CurlPool.Key
    /// Whose connections are limited, to where, and to how many.
    let session: ObjectIdentifier
    let origin: Origin
    let connectionsPerHost: Int
    /// `nil` takes them from the environment.
    let proxies: SessionProxies?
    let wantsTimings: Bool
    let onSend: (@Sendable (Int64, Int64?) -> Void)?
    let onReceive: (@Sendable (Int64, Int64?) -> Void)?

    /// Whether it is begun in a moment: no key has to be agreed on, nothing has to be read, and no progress reported.
    var isQuickToStart: Bool {
      !isSecure && (upload == nil || upload is DataUpload) && onSend == nil && onReceive == nil
    }
  }
#endif
