#if os(Linux)
  import CCurl

  /// The fields of a request as HTTP/2 sends them (RFC 9113 §8.2, §8.3), made from its head as HTTP/1.1 does: which of the
  /// two is spoken is only known once there is a connection.
  struct HTTP2RequestHead {
    private typealias Field = (name: Range<Int>, value: Range<Int>)

    /// What the pseudo-fields need beside the head.
    private static let constants = Array(":method:scheme:authority:pathhttps".utf8)
    /// RFC 9113 §8.2.2.
    private static let connectionFields = ["keep-alive", "proxy-connection", "transfer-encoding", "upgrade"]

    /// The head with names in lower case, and the constants.
    private var bytes: [UInt8]
    private var list: [Field] = []

    /// - Parameters:
    ///   - head: A valid head, as ``RequestHead`` makes it.
    ///   - isSecure: Whether the scheme is `https`.
    init(_ head: [UInt8], isSecure: Bool) {
      bytes = head
      bytes += Self.constants
      let constants = head.count
      func constant(_ start: Int, _ count: Int) -> Range<Int> { constants + start..<constants + start + count }
      let firstLine = 0..<(head.firstIndex(of: UInt8(ascii: "\r")) ?? head.count)
      let spaces = head[firstLine].indices.filter { head[$0] == UInt8(ascii: " ") }
      let (methodEnd, targetEnd) = (spaces.first ?? 0, spaces.last ?? 0)
      var authority = 0..<0
      var fields: [Field] = []
      var named: [[UInt8]] = []
      var start = firstLine.upperBound + 2
      while start < head.count, let end = head[start...].firstIndex(of: UInt8(ascii: "\r")), end > start {
        defer { start = end + 2 }
        guard let colon = head[start..<end].firstIndex(of: UInt8(ascii: ":")) else { continue }
        for index in start..<colon where (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(bytes[index]) {
          bytes[index] |= 0x20
        }
        let value = min(colon + 2, end)..<end
        if isName(start..<colon, "host") {
          authority = value
        } else if isName(start..<colon, "connection") {
          named += FieldList.members(String(decoding: head[value], as: UTF8.self)).map { Array($0.lowercased().utf8) }
        } else if !Self.connectionFields.contains(where: { isName(start..<colon, $0) }),
          !isName(start..<colon, "te") || head[value].elementsEqual("trailers".utf8)
        {
          fields.append((start..<colon, value))
        }
      }
      if !named.isEmpty { fields.removeAll { field in named.contains { bytes[field.name].elementsEqual($0) } } }
      list = [
        (constant(0, 7), 0..<methodEnd), (constant(7, 7), constant(29, isSecure ? 5 : 4)),
        (constant(14, 10), authority), (constant(24, 5), min(methodEnd + 1, targetEnd)..<targetEnd),
      ]
      list += fields
    }

    private func isName(_ range: Range<Int>, _ name: String) -> Bool { bytes[range].elementsEqual(name.utf8) }

    /// The fields in order, for tests.
    var fields: [(name: String, value: String)] {
      list.map { (String(decoding: bytes[$0.name], as: UTF8.self), String(decoding: bytes[$0.value], as: UTF8.self)) }
    }

    /// Calls a function with the fields, which are valid during the call.
    func withFields<Result>(_ body: (UnsafeBufferPointer<ekn_http2_field>) -> Result) -> Result {
      bytes.withUnsafeBufferPointer { bytes in
        let fields = list.map { field in
          ekn_http2_field(
            name: bytes.baseAddress.map { $0 + field.name.lowerBound },
            value: bytes.baseAddress.map { $0 + field.value.lowerBound }, name_length: field.name.count,
            value_length: field.value.count)
        }
        return fields.withUnsafeBufferPointer(body)
      }
    }
  }
#endif
