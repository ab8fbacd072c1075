import Foundation

/// A value of a `Link` field, read as RFC 8288 appendix B describes: what does not have its form ends the value.
struct LinkField {
  private var rest: Substring.UTF8View

  init(_ value: String) { rest = value[...].utf8 }

  /// Reads links up to the first with a relation type, and returns its target; `nil` if there is none.
  ///
  /// - Parameter relation: The type, in lower case.
  mutating func target(of relation: String) -> Substring? {
    while true {
      skip { Self.isBlank($0) || $0 == UInt8(ascii: ",") }
      guard take("<"), let end = rest.firstIndex(of: UInt8(ascii: ">")) else { return nil }
      let target = Substring(rest[..<end])
      rest = rest[rest.index(after: end)...]
      var relations: String?
      var isAboutThis = true
      while let (name, value) = parameter() {
        // §3.3: only the first counts.
        if name == "rel", relations == nil { relations = value.lowercased() }
        // §3.2: the link is one of another resource, perhaps of another server.
        if name == "anchor" { isAboutThis = false }
      }
      guard isAboutThis, let relations else { continue }
      if relations.utf8.split(whereSeparator: Self.isBlank).contains(where: { $0.elementsEqual(relation.utf8) }) {
        return target
      }
    }
  }

  private mutating func parameter() -> (name: String, value: String)? {
    skip(while: Self.isBlank)
    guard take(";") else { return nil }
    skip(while: Self.isBlank)
    let name = text { !Self.isBlank($0) && !Self.delimiters.contains($0) }.lowercased()
    skip(while: Self.isBlank)
    guard take("=") else { return (name, "") }
    skip(while: Self.isBlank)
    guard take("\"") else { return (name, text { !Self.isBlank($0) && $0 != Self.comma && $0 != Self.semicolon }) }
    var value: [UInt8] = []
    while var byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
      if byte == UInt8(ascii: "\\") {
        guard let escaped = rest.popFirst() else { break }
        byte = escaped
      }
      value.append(byte)
    }
    return (name, String(decoding: value, as: UTF8.self))
  }

  private static let comma = UInt8(ascii: ",")
  private static let semicolon = UInt8(ascii: ";")
  private static let delimiters = [comma, semicolon, UInt8(ascii: "=")]
  private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard rest.first == UInt8(ascii: character) else { return false }
    rest.removeFirst()
    return true
  }

  private mutating func skip(while isSkipped: (UInt8) -> Bool) { _ = text(while: isSkipped) }

  private mutating func text(while isPart: (UInt8) -> Bool) -> String {
    let end = rest.firstIndex { !isPart($0) } ?? rest.endIndex
    defer { rest = rest[end...] }
    return String(Substring(rest[..<end]))
  }
}

extension HeaderFieldList {
  /// Returns the target of the first link with a relation type, resolved against a URL; `nil` if there is none.
  func link(_ relation: String, base: URL?) -> URL? {
    for value in values("link") {
      var field = LinkField(value)
      // Types are compared without case (RFC 8288 §2.1.1).
      if let target = field.target(of: relation.lowercased()) {
        return ServerURL.resolve(String(target), against: base)
      }
    }
    return nil
  }
}
