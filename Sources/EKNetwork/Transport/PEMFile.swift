import Foundation

/// Certificates in the textual encoding of RFC 7468.
enum PEMFile {
  /// Returns the DER-encoded certificates of a file, in order, or `nil` if it cannot be read or one of them is
  /// malformed.
  static func certificates(in file: URL) -> [Data]? {
    guard file.isFileURL, let text = try? Data(contentsOf: file) else { return nil }
    return certificates(in: String(decoding: text, as: UTF8.self))
  }

  /// Returns the certificates in a text. Whatever surrounds them is ignored (§2).
  static func certificates(in text: String) -> [Data]? {
    var found: [Data] = []
    var content: String?
    for line in text.split(whereSeparator: \.isNewline) {
      let line = line.trimmingCharacters(in: .whitespaces)
      switch (line, content) {
      case ("-----BEGIN CERTIFICATE-----", nil): content = ""
      case ("-----END CERTIFICATE-----", let encoded?):
        guard let data = Data(base64Encoded: encoded), !data.isEmpty else { return nil }
        found.append(data)
        content = nil
      case (_, let encoded?): content = encoded + line
      default: break
      }
    }
    return content == nil ? found : nil
  }
}
