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

    private struct Last<Form: Sendable> {
      let fields: [String: String]
      let content: Content
      let form: Form
    }

    /// The limits of the lists that are cached.
    private static let maximumCount = 64
    private static let maximumBytes = 16_384

    private let lastLines = Locked<Last<CurlHeaderLines>?>(nil)
    private let lastBlock = Locked<Last<HeaderBlock>?>(nil)

    /// Returns the lines for these fields, and for the defaults of those that are missing.
    ///
    /// - Throws: ``InvalidHeaderError``, or ``TransportOptionError`` if memory is exhausted.
    func lines(for fields: [String: String], content: Content) throws -> CurlHeaderLines {
      try Self.cached(in: lastLines, fields, content) {
        var (fields, suppressed) = try Self.complete(fields, content)
        if content == .chunked { fields.append(("Transfer-Encoding", "chunked")) }
        guard let lines = CurlHeaderLines(fields, suppressing: suppressed) else {
          throw TransportOptionError(option: CurlOption.httpheader.name, library: "libcurl \(CurlLibrary.versionText)")
        }
        return lines
      }
    }

    /// Returns the same for requests that the library itself writes.
    ///
    /// - Throws: ``InvalidHeaderError``.
    func block(for fields: [String: String], content: Content) throws -> HeaderBlock {
      try Self.cached(in: lastBlock, fields, content) {
        var (fields, _) = try Self.complete(fields, content)
        if !fields.contains(where: { $0.name.isFieldName("accept") }) { fields.append(("Accept", "*/*")) }
        if content == .chunked { fields.append(("Transfer-Encoding", "chunked")) }
        return HeaderBlock(fields)
      }
    }

    private static func cached<Form: Sendable>(
      in last: Locked<Last<Form>?>, _ fields: [String: String], _ content: Content, _ make: () throws -> Form
    ) rethrows -> Form {
      // All fields are compared, so that no request is sent with the fields of another.
      if let last = last.withLock({ $0 }), last.content == content, last.fields == fields { return last.form }
      let form = try make()
      guard fields.count <= maximumCount,
        fields.reduce(0, { $0 + $1.key.utf8.count + $1.value.utf8.count }) <= maximumBytes
      else { return form }
      let next = Last(fields: fields, content: content, form: form)
      // The previous value is released outside the lock.
      _ = last.withLock { last in
        defer { last = next }
        return last
      }
      return form
    }

    /// Returns the fields, checked and with their defaults, and the names of those that libcurl must not add.
    private static func complete(
      _ given: [String: String], _ content: Content
    ) throws -> (fields: [(name: String, value: String)], suppressed: [String]) {
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
        if !names.contains("content-type") { suppressed.append("Content-Type") }
        // Otherwise libcurl would wait a second for servers that do not support RFC 9110 §10.1.1.
        if !names.contains("expect") { suppressed.append("Expect") }
      }
      return (fields, suppressed)
    }
  }
#endif
