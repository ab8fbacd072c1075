import Foundation

/// The properties of a response head that an upload needs.
struct UploadHead: Equatable, Sendable {
  var status: Int
  /// The URL that responded; `nil` if it is unknown.
  var url: URL?
  /// Whether redirects have led to another origin.
  var isFromOtherOrigin = false
  var location: String?
  var offset: Int64?
  var length: Int64?
  var isComplete: Bool?
  var limits = UploadLimits()
  var version: String?

  init(status: Int) { self.status = status }

  init(_ head: ResponseHead, status: Int) {
    self.status = status
    url = head.url
    isFromOtherOrigin = head.isFromOtherOrigin
    // Of a field with different values none counts.
    location = head.hint("location")
    offset = head.hint("upload-offset").flatMap(Self.integer)
    length = head.hint("upload-length").flatMap(Self.integer)
    isComplete = head.hint("upload-complete").flatMap(Self.boolean)
    limits = head.value("upload-limit").flatMap(UploadLimits.init) ?? UploadLimits()
    if let size = head.hint("tus-max-size").flatMap(Self.integer) { limits.maximumSize = limits.maximumSize ?? size }
    version = head.hint("tus-version")
  }

  /// Returns a number that is not negative (RFC 9651 §3.3.1, without its parameters); tus has no other form.
  static func integer(_ text: String) -> Int64? {
    let digits = item(text)
    guard (1...18).contains(digits.utf8.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
      return nil
    }
    return Int64(digits)
  }

  /// RFC 9651 §3.3.6.
  static func boolean(_ text: String) -> Bool? {
    switch item(text) {
    case "?1": true
    case "?0": false
    default: nil
    }
  }

  private static func item(_ text: String) -> Substring { text.prefix { $0 != ";" }.trimmingBlanks() }
}

/// The limits of a server (draft §4.1.4), in bytes.
struct UploadLimits: Equatable, Sendable {
  var maximumSize: Int64?
  var maximumPart: Int64?
  var minimumPart: Int64?

  init() {}

  /// Parses a dictionary (RFC 9651 §3.2); returns `nil` for a member of the wrong type, for which the draft requires that the
  /// whole field is ignored.
  init?(_ text: String) {
    for member in FieldList.members(text) {
      let parts = member.split(separator: "=", maxSplits: 1)
      guard let name = parts.first, ["max-size", "max-append-size", "min-append-size"].contains(name) else { continue }
      guard parts.count == 2, let value = UploadHead.integer(String(parts[1])) else { return nil }
      switch name {
      case "max-size": maximumSize = value
      case "max-append-size": maximumPart = value
      default: minimumPart = value
      }
    }
  }

  /// Replaces those limits that a later response has.
  mutating func update(_ other: UploadLimits) {
    maximumSize = other.maximumSize ?? maximumSize
    maximumPart = other.maximumPart ?? maximumPart
    minimumPart = other.minimumPart ?? minimumPart
  }
}

/// An upload on a server.
struct UploadResource: Codable, Equatable, Sendable {
  var url: URL
  /// Whether the URL is of another origin than the request, or was chosen by one: credentials are not sent there.
  var isOfOtherOrigin: Bool

  /// Creates the upload that a response's `Location` names; `nil` if it cannot be used. The rules are those of redirects.
  ///
  /// - Parameter requested: The URL of the request, before redirects.
  init?(_ head: UploadHead, requested: URL) {
    let source = (head.url ?? requested).withoutCredentials
    guard let location = head.location, !location.isEmpty,
      let url = ServerURL.resolve(location, against: source)?.withoutCredentials,
      RedirectState.refusal(of: url, from: source) == nil, let origin = Origin(url)
    else { return nil }
    self.url = url
    let own = Origin(requested)
    isOfOtherOrigin = head.isFromOtherOrigin || Origin(source) != own || origin != own
  }
}
