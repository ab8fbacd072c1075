#if os(Linux)
  import Foundation

  /// Converts a request's fields to libcurl's lines. The last result is cached, because the next request mostly has the
  /// same.
  struct CurlHeaderFields: Sendable {
    /// What the fields have to state about the request's content (RFC 9110 §8.6, RFC 9112 §6).
    enum Content {
      /// There is no content, and none is expected.
      case none
      /// There is no content, although the method usually has some.
      case empty
      case sized
      case chunked
    }

    /// The default `User-Agent`, like the one that Foundation derives from the process.
    private static let userAgent = UserAgentConfiguration().generateUserAgentString()

    private struct Last {
      let fields: [String: String]
      let content: Content
      let lines: CurlHeaderLines
    }

    /// The limits of the lists that are cached.
    private static let maximumCount = 64
    private static let maximumBytes = 16_384

    private let last = Locked<Last?>(nil)

    /// Returns the lines for these fields, and for the defaults of those that are missing.
    ///
    /// - Throws: ``InvalidHeaderError``, or ``TransportOptionError`` if memory is exhausted.
    func lines(for fields: [String: String], content: Content) throws -> CurlHeaderLines {
      // All fields are compared, so that no request is sent with the fields of another.
      if let last = last.withLock({ $0 }), last.content == content, last.fields == fields { return last.lines }
      let lines = try Self.makeLines(fields, content)
      guard fields.count <= Self.maximumCount,
        fields.reduce(0, { $0 + $1.key.utf8.count + $1.value.utf8.count }) <= Self.maximumBytes
      else { return lines }
      let next = Last(fields: fields, content: content, lines: lines)
      // The previous value is released outside the lock.
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
        // libcurl writes the length itself, from the body that it sends, and the coding is added below. Any other value
        // would let the server see the end of the request elsewhere (RFC 9112 §6.3).
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
        // RFC 9110 §8.6: a method that usually has content states that there is none.
        fields.append(("Content-Length", "0"))
      case .sized, .chunked:
        if content == .chunked { fields.append(("Transfer-Encoding", "chunked")) }
        if !names.contains("content-type") { suppressed.append("Content-Type") }
        // Otherwise libcurl would wait a second for servers that do not support RFC 9110 §10.1.1.
        if !names.contains("expect") { suppressed.append("Expect") }
      }
      guard let lines = CurlHeaderLines(fields, suppressing: suppressed) else {
        throw TransportOptionError(option: CurlOption.httpheader.name, library: "libcurl \(CurlLibrary.versionText)")
      }
      return lines
    }
  }
#endif
