/// Where the files of a response lie: `xx/<URL>-<identity>-<variant>`, digests in hexadecimal digits; a body of its own
/// has the number of its file behind that.
struct DiskName: Sendable {
  /// The greatest number of variants (RFC 9111 §4.1) of one URL for one identity.
  static let variants = 0..<MemoryStore.maximumVariants

  /// What the file itself says of its URL and identity, in full.
  let key: String
  /// The folder within the store.
  let folder: String
  private let stem: String

  /// - Parameter url: ``digest(of:)`` of the location's URL.
  init(_ location: CacheLocation, url: String) {
    folder = String(url.prefix(2))
    stem = "\(folder)/\(Self.prefix(url))-\(Self.digest(of: location.partition).prefix(16))"
    key = "\(url) \(location.partition)"
  }

  init(_ location: CacheLocation) { self.init(location, url: Self.digest(of: location.url)) }

  static func digest(of text: String) -> String { SHA256.hexadecimal(Array(text.utf8)) }

  /// What the names of all files begin with that belong to a URL.
  static func prefix(_ url: String) -> String { String(url.prefix(32)) }

  func path(_ variant: Int) -> String { "\(stem)-\(variant)" }

  static func body(_ path: String, _ number: UInt64) -> String { "\(path).\(String(number, radix: 16))" }
}
