/// The paths of a response's files: `xx/<URL>-<identity>-<variant>`, with digests in hexadecimal digits; a separate
/// body file has its number appended.
struct DiskName: Sendable {
  /// The variants (RFC 9111 §4.1) of one URL for one identity.
  static let variants = 0..<MemoryStore.maximumVariants

  /// The full key of URL and identity, which is stored in the file.
  let key: String
  /// The subfolder of the store.
  let folder: String
  /// ``CacheLocation/trust``.
  let trust: String?
  private let stem: String

  /// - Parameter url: ``digest(of:)`` of the location's URL.
  init(_ location: CacheLocation, url: String) {
    folder = Self.folder(url)
    trust = location.trust
    stem = "\(folder)/\(Self.prefix(url))-\(Self.digest(of: location.partition).prefix(16))"
    key = "\(url) \(location.partition)"
  }

  init(_ location: CacheLocation) { self.init(location, url: Self.digest(of: location.url)) }

  static func digest(of text: String) -> String { SHA256.hexadecimal(Array(text.utf8)) }

  static func folder(_ url: String) -> String { String(url.prefix(2)) }

  /// Returns the prefix of the names of all files for a URL.
  static func prefix(_ url: String) -> String { String(url.prefix(32)) }

  func path(_ variant: Int) -> String { "\(stem)-\(variant)" }

  static func body(_ path: String, _ number: UInt64) -> String { "\(path).\(String(number, radix: 16))" }
}
