#if os(Linux)
  import Foundation

  /// Converts a request's fields to the lines of its head. The last result is cached, because the next request mostly has
  /// the same.
  struct RequestFields: Sendable {
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

    private struct Last: Sendable {
      let fields: [String: String]
      let content: Content
      let block: HeaderBlock
    }

    /// The limits of the fields that are cached.
    private static let maximumCount = 64
    private static let maximumBytes = 16_384

    private let last = Locked<Last?>(nil)

    /// Returns the lines for these fields, and for the defaults of those that are missing.
    ///
    /// - Throws: ``InvalidHeaderError``.
    func block(for fields: [String: String], content: Content) throws -> HeaderBlock {
      // All fields are compared, so that no request is sent with the fields of another.
      if let last = last.withLock({ $0 }), last.content == content, last.fields == fields { return last.block }
      let block = HeaderBlock(try Self.complete(fields, content))
      guard fields.count <= Self.maximumCount,
        fields.reduce(0, { $0 + $1.key.utf8.count + $1.value.utf8.count }) <= Self.maximumBytes
      else { return block }
      let next = Last(fields: fields, content: content, block: block)
      // The previous value is released outside the lock.
      _ = last.withLock { last in
        defer { last = next }
        return last
      }
      return block
    }

    /// Returns the fields, checked and with their defaults.
    private static func complete(
      _ given: [String: String], _ content: Content
    ) throws -> [(name: String, value: String)] {
      var fields: [(name: String, value: String)] = []
      var names: Set<String> = []
      for (name, value) in given {
        guard HeaderSyntax.isToken(name) else { throw InvalidHeaderError(field: name, reason: .invalidName) }
        guard let value = HeaderSyntax.trimmedValue(value) else {
          throw InvalidHeaderError(field: name, reason: .invalidValue)
        }
        let lowercased = name.lowercased()
        // The length is that of the body, and the coding is added below. Any other value would let the server see the end of
        // the request elsewhere (RFC 9112 §6.3).
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
      // RFC 9110 §8.6: a method that usually has content states that there is none.
      if content == .empty { fields.append(("Content-Length", "0")) }
      addDefault("Accept", "*/*")
      if content == .chunked { fields.append(("Transfer-Encoding", "chunked")) }
      return fields
    }
  }
#endif
