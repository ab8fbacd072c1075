import Foundation

/// The part of a response's file before its body: a head of fixed length, and the response's fields.
///
/// It contains nothing that the response does not need: the URL and the identity are digests, and cookies set by the
/// server were taken by the session when the response arrived.
struct DiskRecord: Sendable {
  /// The size of the magic number, version, lengths and digests.
  static let headLength = 48
  /// The largest valid size of the fields: those received over the network are bounded.
  static let greatestFields = 4 * 1024 * 1024
  private static let magic: UInt64 = 0x3145_4843_4143_4B45
  private static let version: UInt32 = 1
  private static let secrets: Set<String> = ["set-cookie", "set-cookie2"]

  /// ``DiskName/key``.
  var key: String
  var response: StoredResponse
  var bodyLength: Int64
  /// The number of the body's file; 0 if the body is in this file.
  var bodyFile: UInt64 = 0
  /// The digest of a body in this file.
  var bodyDigest: UInt32 = 0

  func encoded() -> Data {
    var fields = RecordWriter()
    fields.add(key)
    fields.add(UInt32(response.status))
    fields.add(response.reason)
    fields.add(response.requestTime)
    fields.add(response.responseTime)
    fields.add(response.identity.credentials)
    fields.add(response.identity.cookies)
    fields.add(response.varying.language)
    fields.add(UInt32(response.isEncoded ? 1 : 0))
    fields.add(UInt32(response.varying.selectors.count))
    for selector in response.varying.selectors {
      fields.add(selector.name)
      fields.add(selector.value)
    }
    let kept = response.fields.fields.filter { !Self.secrets.contains($0.name.lowercased()) }
    fields.add(UInt32(kept.count))
    for field in kept {
      fields.add(field.name)
      fields.add(field.value)
    }
    var head = RecordWriter()
    head.add(Self.magic)
    head.add(Self.version)
    head.add(UInt32(fields.bytes.count))
    head.add(UInt64(bodyLength))
    head.add(bodyFile)
    head.add(bodyDigest)
    head.add(CRC32.of(fields.bytes))
    head.add(UInt32(0))
    head.add(CRC32.of(head.bytes))
    return head.bytes + fields.bytes
  }

  /// Returns the record at the beginning of a file, and its length there; `nil` if any of it is damaged.
  ///
  /// - Parameter trust: ``CacheLocation/trust``, which the key of the record contains.
  static func read(_ bytes: UnsafeRawBufferPointer, trust: String? = nil) -> (record: DiskRecord, length: Int)? {
    guard bytes.count >= headLength else { return nil }
    let headBytes = UnsafeRawBufferPointer(rebasing: bytes[..<headLength])
    var head = RecordReader(headBytes)
    guard head.number() == magic, head.number() == version, let length = head.size(),
      let bodyLength: Int64 = head.number(), let bodyFile: UInt64 = head.number(),
      // Larger than any disk; it would overflow in calculations.
      (0...Int64(1) << 60).contains(bodyLength),
      let bodyDigest: UInt32 = head.number(), let digest: UInt32 = head.number(), head.number() == UInt32(0),
      head.number() == CRC32.of(UnsafeRawBufferPointer(rebasing: headBytes[..<(headLength - 4)])),
      length <= min(greatestFields, bytes.count - headLength)
    else { return nil }
    let content = UnsafeRawBufferPointer(rebasing: bytes[headLength..<(headLength + length)])
    guard CRC32.of(content) == digest, let (key, response) = fields(content, trust) else { return nil }
    let record = DiskRecord(
      key: key, response: response, bodyLength: bodyLength, bodyFile: bodyFile, bodyDigest: bodyDigest)
    return (record, headLength + length)
  }

  private static func fields(_ content: UnsafeRawBufferPointer, _ trust: String?) -> (key: String, StoredResponse)? {
    var reader = RecordReader(content)
    guard let key = reader.text(), let status: UInt32 = reader.number(), (100..<1000).contains(status),
      let reason = reader.text(), let requestTime = reader.date(), let responseTime = reader.date(),
      let credentials = reader.optionalText(), let cookies = reader.optionalText(),
      let language = reader.optionalText(), let isEncoded: UInt32 = reader.number(),
      let selectorCount = reader.count(ofAtLeast: 8)
    else { return nil }
    var selectors: [VaryingFields.Selector] = []
    for _ in 0..<selectorCount {
      guard let name = reader.text(), let value = reader.optionalText() else { return nil }
      selectors.append(VaryingFields.Selector(name: name, value: value))
    }
    guard let fieldCount = reader.count(ofAtLeast: 8) else { return nil }
    var fields = HeaderFieldList()
    for _ in 0..<fieldCount {
      guard let name = reader.text(), let value = reader.text() else { return nil }
      fields.append(name, value)
    }
    let response = StoredResponse(
      status: Int(status), reason: reason, fields: fields, requestTime: requestTime, responseTime: responseTime,
      varying: VaryingFields(selectors: selectors, language: language),
      identity: .recorded(credentials: credentials, cookies: cookies, for: trust), isEncoded: isEncoded == 1)
    return (key, response)
  }
}

extension DiskRecord {
  /// Creates a record that is followed by its body.
  init(_ key: String, _ response: StoredResponse, body: Data) {
    self.init(key: key, response: response, bodyLength: Int64(body.count), bodyDigest: CRC32.of(body))
  }
}

/// Writes the parts of a record one after the other: numbers in little-endian order, texts preceded by their length.
struct RecordWriter {
  private(set) var bytes = Data()

  mutating func add(_ number: some FixedWidthInteger) {
    withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
  }
  mutating func add(_ date: Date) { add(date.timeIntervalSince1970.bitPattern) }

  mutating func add(_ text: String) {
    let utf8 = text.utf8
    add(UInt32(truncatingIfNeeded: utf8.count))
    bytes.append(contentsOf: utf8)
  }

  mutating func add(_ text: String?) {
    add(UInt32(text == nil ? 0 : 1))
    if let text { add(text) }
  }
}

/// Reads what ``RecordWriter`` has written. Missing or invalid parts are `nil`, whatever the bytes.
struct RecordReader {
  private let bytes: UnsafeRawBufferPointer
  private var position = 0

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  mutating func number<Number: FixedWidthInteger & BitwiseCopyable>() -> Number? {
    guard bytes.count - position >= MemoryLayout<Number>.size else { return nil }
    defer { position += MemoryLayout<Number>.size }
    return Number(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: Number.self))
  }

  /// A number that is a length or a count, of 32 bits.
  mutating func size() -> Int? {
    let number: UInt32? = number()
    return number.flatMap { Int(exactly: $0) }
  }

  mutating func date() -> Date? {
    guard let bits: UInt64 = number() else { return nil }
    let seconds = Double(bitPattern: bits)
    // A date outside the calendar would trap in calculations.
    return seconds.isFinite && abs(seconds) < 1e11 ? Date(timeIntervalSince1970: seconds) : nil
  }

  mutating func text() -> String? {
    guard let count = size(), count <= bytes.count - position else { return nil }
    defer { position += count }
    return String(decoding: bytes[position..<(position + count)], as: UTF8.self)
  }

  /// `.some(nil)` for a text that was `nil`.
  mutating func optionalText() -> String?? {
    guard let isThere: UInt32 = number() else { return nil }
    return isThere == 0 ? .some(nil) : text().map { .some($0) }
  }

  /// Returns the number of elements that follow, each of which takes at least `size` bytes.
  mutating func count(ofAtLeast size: Int) -> Int? {
    guard let count = self.size(), count <= (bytes.count - position) / size else { return nil }
    return count
  }
}

/// A CRC-32 checksum (ISO 3309), against accidental damage such as a partially written block or a flipped bit.
/// Processes eight bytes at a time.
struct CRC32: Sendable {
  /// The remainders of a byte followed by zero to seven others, 256 for each.
  private static let tables: [UInt32] = {
    var tables = (0..<256).map { (index: UInt32) -> UInt32 in
      (0..<8).reduce(index) { value, _ in value & 1 == 1 ? 0xEDB8_8320 ^ value >> 1 : value >> 1 }
    }
    for index in 256..<2048 {
      let previous = tables[index - 256]
      tables.append(tables[Int(previous & 0xFF)] ^ previous >> 8)
    }
    return tables
  }()

  private var state = ~UInt32(0)

  var value: UInt32 { ~state }

  mutating func add(_ bytes: UnsafeRawBufferPointer) {
    var crc = state
    Self.tables.withUnsafeBufferPointer { table in
      var index = 0
      while index + 8 <= bytes.count {
        let word =
          UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)) ^ UInt64(crc)
        func part(_ shift: UInt64, _ following: Int) -> UInt32 { table[following << 8 | Int(word >> shift & 0xFF)] }
        crc = part(0, 7) ^ part(8, 6) ^ part(16, 5) ^ part(24, 4)
        crc ^= part(32, 3) ^ part(40, 2) ^ part(48, 1) ^ part(56, 0)
        index += 8
      }
      while index < bytes.count {
        crc = table[Int((crc ^ UInt32(bytes[index])) & 0xFF)] ^ crc >> 8
        index += 1
      }
    }
    state = crc
  }

  mutating func add(_ number: UInt64) { withUnsafeBytes(of: number.littleEndian) { add($0) } }

  static func of(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
    var crc = CRC32()
    crc.add(bytes)
    return crc.value
  }

  static func of(_ data: Data) -> UInt32 { data.withUnsafeBytes { of($0) } }
}
