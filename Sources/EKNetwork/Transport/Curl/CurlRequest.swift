#if os(Linux)
  import CCurl
  import Foundation
  import FoundationNetworking

  /// A request in the form that libcurl takes. Made on the caller's side, read by the event loop.
  struct CurlRequest: Sendable {
    let url: URL
    let isSecure: Bool
    let method: String
    let headerLines: CurlHeaderLines
    let upload: (any UploadSource)?
    /// Whether the request may be sent again when its connection died before an answer began.
    let isIdempotent: Bool
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

    /// Whether it is begun in a moment: no key has to be agreed on, nothing has to be read, and nobody has to be told.
    var isQuickToStart: Bool {
      !isSecure && (upload == nil || upload is DataUpload) && onSend == nil && onReceive == nil
    }
  }

  /// libcurl's list of header lines, freed with its last reference.
  final class CurlHeaderLines: @unchecked Sendable {
    // Unchecked: written by `init` alone.
    let list: OpaquePointer?

    init(_ fields: [(name: String, value: String)], suppressing suppressed: [String]) {
      var list: OpaquePointer?
      for (name, value) in fields {
        // `Name;` is libcurl's way to send a field without a value.
        list = ekn_slist_append(list, value.isEmpty ? "\(name);" : "\(name): \(value)") ?? list
      }
      for name in suppressed { list = ekn_slist_append(list, "\(name):") ?? list }
      self.list = list
    }

    deinit { ekn_slist_free(list) }
  }
#endif
