#if os(Linux)
  import Foundation

  /// Turns a request's fields into libcurl's lines. Those of the last request are kept, for the next one mostly has the same.
  struct CurlHeaderFields: Sendable {
    /// What the fields have to say of the request's content (RFC 9110 §8.6, RFC 9112 §6).
    enum Content {
      /// There is none, and none is expected.
      case none
      /// There is none, which the method's default is not.
      case empty
      case sized
      case chunked
    }

    /// The name that a request without a `User-Agent` gets, as Foundation gives it the process's.
    private static let userAgent = UserAgentConfiguration().generateUserAgentString()

    private struct Last {
      let fields: [String: String]
      let content: Content
      let lines: CurlHeaderLines
    }

    /// Larger lists are not kept.
    private static let maximumCount = 64
    private static let maximumBytes = 16_384

    private let last = Locked<Last?>(nil)

    /// The lines of these fields and of the defaults for those that are missing.
    ///
    /// - Throws: ``InvalidHeaderError``, or ``TransportOptionError`` when there is no memory.
    func lines(for fields: [String: String], content: Content) throws -> CurlHeaderLines {
      // All of the fields are compared: no request is sent with another one's.
      if let last = last.withLock({ $0 }), last.content == content, last.fields == fields { return last.lines }
      let lines = try Self.makeLines(fields, content)
      guard fields.count <= Self.maximumCount,
        fields.reduce(0, { $0 + $1.key.utf8.count + $1.value.utf8.count }) <= Self.maximumBytes
      else { return lines }
      let next = Last(fields: fields, content: content, lines: lines)
      // The one before is freed outside of the lock.
      _ = last.withLock { last in
        defer { last = next }
        return last
      }
      return lines
    }

    private static func makeLines(_ given: [String: String], _ content: Content) throws -> CurlHeaderLines {
      var fields: [(name: String, value: String)] = []
      var names: Set<String> = []
      for (name, value) in given {
        guard HeaderSyntax.isToken(name) else { throw InvalidHeaderError(field: name, reason: .invalidName) }
        guard let value = HeaderSyntax.trimmedValue(value) else {
          throw InvalidHeaderError(field: name, reason: .invalidValue)
        }
        let lowercased = name.lowercased()
        // libcurl writes the length itself, from the body that it sends, and the coding is added below. Any other would
        // let the server see the request's end elsewhere (RFC 9112 §6.3).
        if lowercased == "transfer-encoding", value.lowercased() != "chunked" {
          throw InvalidHeaderError(field: name, reason: .managedByLibrary)
        }
        guard lowercased != "content-length", lowercased != "transfer-encoding", names.insert(lowercased).inserted
        else { continue }
        fields.append((name, value))
      }
      func addDefault(_ name: String, _ value: String?) {
        if !names.contains(name.lowercased()), let value { fields.append((name, value)) }
      }
      addDefault("Accept-Encoding", ContentCoding.acceptEncoding)
      addDefault("User-Agent", userAgent)
      var suppressed: [String] = []
      switch content {
      case .none: break
      case .empty:
        // RFC 9110 §8.6: a method that anticipates content says so when there is none.
        fields.append(("Content-Length", "0"))
      case .sized, .chunked:
        if content == .chunked { fields.append(("Transfer-Encoding", "chunked")) }
        if !names.contains("content-type") { suppressed.append("Content-Type") }
        // libcurl would wait a second for a server that does not know RFC 9110 §10.1.1.
        if !names.contains("expect") { suppressed.append("Expect") }
      }
      guard let lines = CurlHeaderLines(fields, suppressing: suppressed) else {
        throw TransportOptionError(option: CurlOption.httpheader.name, library: "libcurl \(CurlLibrary.versionText)")
      }
      return lines
    }
  }
#endif
