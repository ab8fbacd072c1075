/// The public key of an X.509 certificate, as pins name it (RFC 7469 §2.4).
enum SubjectPublicKey {
  /// The DER-encoded `SubjectPublicKeyInfo` of a DER-encoded certificate (RFC 5280 §4.1); `nil` if it is none.
  static func bytes(inCertificate certificate: [UInt8]) -> ArraySlice<UInt8>? {
    var outer = DERReader(certificate[...])
    guard var signed = outer.enter(0x30), var fields = signed.enter(0x30) else { return nil }
    // The version is there from version 2 on; before the key stand serial number, algorithm, issuer, validity, subject.
    if fields.nextTag == 0xA0 { fields.skip() }
    for tag: UInt8 in [0x02, 0x30, 0x30, 0x30, 0x30] {
      guard fields.nextTag == tag else { return nil }
      fields.skip()
    }
    return fields.nextTag == 0x30 ? fields.take() : nil
  }
}

/// Reads the distinguished encoding of ASN.1 (X.690 §10), one element after the other.
private struct DERReader {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

  var nextTag: UInt8? { rest.first }

  /// The next element with its head; `nil` if it is not whole.
  mutating func take() -> ArraySlice<UInt8>? {
    guard let (head, length) = head() else { return nil }
    let element = rest.prefix(head + length)
    rest = rest.dropFirst(head + length)
    return element
  }

  mutating func skip() { if take() == nil { rest = [] } }

  /// A reader of the next element's content, if the element is of this kind.
  mutating func enter(_ tag: UInt8) -> DERReader? {
    guard nextTag == tag, let (head, length) = head() else { return nil }
    defer { rest = rest.dropFirst(head + length) }
    return DERReader(rest.dropFirst(head).prefix(length))
  }

  /// The sizes of the next element's head and content, both of which are there.
  private func head() -> (head: Int, length: Int)? {
    let bytes = rest.prefix(6)
    guard bytes.count >= 2 else { return nil }
    let first = bytes[bytes.startIndex + 1]
    var (head, length) = (2, Int(first))
    if first >= 0x80 {
      let count = Int(first & 0x7F)
      // Three bytes are 16 MiB, and no overflow where integers have 32 bits.
      guard (1...3).contains(count), bytes.count >= 2 + count else { return nil }
      head += count
      length = bytes.dropFirst(2).prefix(count).reduce(0) { $0 << 8 | Int($1) }
    }
    return rest.count - head >= length ? (head, length) : nil
  }
}
