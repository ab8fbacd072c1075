extension String {
  /// The text of these bytes, or `nil` where they are no UTF-8. A byte order mark stays in it.
  ///
  /// What the standard library offers for this is newer than the systems that the package supports.
  init?(utf8Bytes bytes: UnsafeRawBufferPointer) {
    // Whatever is not UTF-8 is replaced, and reads differently from then on.
    var text = String(decoding: bytes, as: UTF8.self)
    let isSame = text.withUTF8 { $0.count == bytes.count && $0.elementsEqual(bytes) }
    guard isSame else { return nil }
    self = text
  }
}
