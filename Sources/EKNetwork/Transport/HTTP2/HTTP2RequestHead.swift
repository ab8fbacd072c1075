#if os(Linux)
  import CCurl

  /// The fields of a request as HTTP/2 sends them (RFC 9113 §8.2, §8.3), made from its head as HTTP/1.1 does: which of the
  /// two is spoken is only known once there is a connection.
  struct HTTP2RequestHead {
    private typealias Field = (name: Range<Int>, value: Range<Int>)

    /// What the pseudo-fields need beside the head.
    private static let constants = Array(":method:scheme:authority:pathhttps".utf8)

    /// What a field of HTTP/1.1 means here (RFC 9113 §8.2.2, §8.3.1).
    private enum Kind { case field, host, connection, te, ofConnection }

    /// The head with names in lower case, and the constants.
    private var bytes: [UInt8] = []
    private var list: [Field] = []

    /// - Parameters:
    ///   - head: A valid head, as ``RequestHead`` makes it.
    ///   - isSecure: Whether the scheme is `https`.
    init(_ head: [UInt8], isSecure: Bool) {
      let size = head.count
      bytes.reserveCapacity(size + Self.constants.count)
      bytes += head
      bytes += Self.constants
      list.reserveCapacity(24)
      var named: [[UInt8]] = []
      bytes.withUnsafeMutableBufferPointer { bytes in
        let line = bytes[..<size].firstIndex(of: UInt8(ascii: "\r")) ?? size
        let methodEnd = bytes[..<line].firstIndex(of: UInt8(ascii: " ")) ?? 0
        let targetEnd = bytes[..<line].lastIndex(of: UInt8(ascii: " ")) ?? 0
        func constant(_ start: Int, _ count: Int) -> Range<Int> { size + start..<size + start + count }
        list = [
          (constant(0, 7), 0..<methodEnd), (constant(7, 7), constant(29, isSecure ? 5 : 4)), (constant(14, 10), 0..<0),
          (constant(24, 5), min(methodEnd + 1, targetEnd)..<targetEnd),
        ]
        var index = line + 2
        while index < size, bytes[index] != UInt8(ascii: "\r") {
          let start = index
          while index < size, bytes[index] != UInt8(ascii: ":"), bytes[index] != UInt8(ascii: "\r") {
            if (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(bytes[index]) { bytes[index] |= 0x20 }
            index += 1
          }
          let name = start..<index
          while index < size, bytes[index] != UInt8(ascii: "\r") { index += 1 }
          let value = min(name.upperBound + 2, index)..<index
          index += 2
          guard name.upperBound < size, bytes[name.upperBound] == UInt8(ascii: ":") else { continue }
          switch Self.kind(bytes[name]) {
          case .host: list[2].value = value
          case .connection:
            named += FieldList.members(String(decoding: bytes[value], as: UTF8.self)).map {
              Array($0.lowercased().utf8)
            }
          case .field: list.append((name, value))
          case .te: if bytes[value].elementsEqual("trailers".utf8) { list.append((name, value)) }
          case .ofConnection: break
          }
        }
      }
      guard !named.isEmpty else { return }
      list[4...].removeAll { field in named.contains { bytes[field.name].elementsEqual($0) } }
    }

    /// The fields of a trailer section, which has no pseudo-fields (RFC 9113 §8.1).
    ///
    /// - Parameter lines: Valid fields, as ``RequestTrailers`` makes them.
    init(trailers lines: [UInt8]) {
      self.init(Array("\r\n".utf8) + lines + Array("\r\n".utf8), isSecure: true)
      list.removeFirst(4)
    }

    private static func kind(_ name: Slice<UnsafeMutableBufferPointer<UInt8>>) -> Kind {
      switch name.count {
      case 2 where name.elementsEqual("te".utf8): .te
      case 4 where name.elementsEqual("host".utf8): .host
      case 7 where name.elementsEqual("upgrade".utf8): .ofConnection
      case 10 where name.elementsEqual("connection".utf8): .connection
      case 10 where name.elementsEqual("keep-alive".utf8): .ofConnection
      case 16 where name.elementsEqual("proxy-connection".utf8): .ofConnection
      case 17 where name.elementsEqual("transfer-encoding".utf8): .ofConnection
      default: .field
      }
    }

    /// The fields in order, for tests.
    var fields: [(name: String, value: String)] {
      list.map { (String(decoding: bytes[$0.name], as: UTF8.self), String(decoding: bytes[$0.value], as: UTF8.self)) }
    }

    /// Calls a function with the fields, which are valid during the call.
    func withFields<Result>(_ body: (UnsafeBufferPointer<ekn_http2_field>) -> Result) -> Result {
      bytes.withUnsafeBufferPointer { bytes in
        withUnsafeTemporaryAllocation(of: ekn_http2_field.self, capacity: list.count) { fields in
          for (index, field) in list.enumerated() {
            fields.initializeElement(
              at: index,
              to: ekn_http2_field(
                name: bytes.baseAddress.map { $0 + field.name.lowerBound },
                value: bytes.baseAddress.map { $0 + field.value.lowerBound }, name_length: field.name.count,
                value_length: field.value.count, flags: 0))
          }
          return body(UnsafeBufferPointer(fields))
        }
      }
    }
  }
#endif
