/// The public key of an X.509 certificate, in the form that pins refer to (RFC 7469 §2.4).
enum SubjectPublicKey {
  /// Returns the DER-encoded `SubjectPublicKeyInfo` of a DER-encoded certificate (RFC 5280 §4.1), or `nil` if it is not
  /// one.
  static func bytes(inCertificate certificate: [UInt8]) -> ArraySlice<UInt8>? {
    var outer = DERReader(certificate[...])
    guard var signed = outer.enter(0x30), var fields = signed.enter(0x30) else { return nil }
    // The version is present from version 2 on; serial number, algorithm, issuer, validity and subject precede the key.
    if fields.nextTag == 0xA0 { fields.skip() }
    for tag: UInt8 in [0x02, 0x30, 0x30, 0x30, 0x30] {
      guard fields.nextTag == tag else { return nil }
      fields.skip()
    }
    return fields.nextTag == 0x30 ? fields.take() : nil
  }
}

/// A reader of ASN.1 in distinguished encoding (X.690 §10), one element at a time.
private struct DERReader {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

  var nextTag: UInt8? { rest.first }

  /// Returns the next element with its header, or `nil` if it is incomplete.
  mutating func take() -> ArraySlice<UInt8>? {
    guard let (head, length) = head() else { return nil }
    let element = rest.prefix(head + length)
    rest = rest.dropFirst(head + length)
    return element
  }

  mutating func skip() { if take() == nil { rest = [] } }

  /// Returns a reader of the next element's content, if the element has this tag.
  mutating func enter(_ tag: UInt8) -> DERReader? {
    guard nextTag == tag, let (head, length) = head() else { return nil }
    defer { rest = rest.dropFirst(head + length) }
    return DERReader(rest.dropFirst(head).prefix(length))
  }

  /// Returns the sizes of the next element's header and content, if both are complete.
  private func head() -> (head: Int, length: Int)? {
    let bytes = rest.prefix(6)
    guard bytes.count >= 2 else { return nil }
    let first = bytes[bytes.startIndex + 1]
    var (head, length) = (2, Int(first))
    if first >= 0x80 {
      let count = Int(first & 0x7F)
      // Three bytes allow 16 MiB, and do not overflow a 32-bit integer.
      guard (1...3).contains(count) else { return nil }
      head += count
      length = bytes.dropFirst(2).prefix(count).reduce(0) { $0 << 8 | Int($1) }
    }
    return rest.count - head >= length ? (head, length) : nil
  }
}
