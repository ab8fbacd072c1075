extension String {
  /// Creates a string from UTF-8 bytes; returns `nil` for invalid UTF-8. A byte order mark is kept.
  ///
  /// The standard library's equivalent requires newer systems than the package supports.
  init?(utf8Bytes bytes: UnsafeRawBufferPointer) {
    // Invalid bytes are replaced, so the result differs from the input.
    var text = String(decoding: bytes, as: UTF8.self)
    let isSame = text.withUTF8 { $0.count == bytes.count && $0.elementsEqual(bytes) }
    guard isSame else { return nil }
    self = text
  }
}
