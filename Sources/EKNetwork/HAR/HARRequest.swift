import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A recorded request: enough to recognise it, and no more of its secrets than may be recorded.
struct HARRequest: Sendable, Equatable {
  var method: String
  var url: String
  /// The header fields as they are written.
  var fields: HeaderFieldList
  /// The fingerprints of the values of secret fields, by name in lower case.
  var fingerprints: [String: String]
  var body: HARRequestBody?

  /// - Parameter limit: The maximum number of bytes recorded of the body, if it may be shown.
  init(_ request: URLRequest, redaction: HARRedaction, limit: Int = 0) {
    let sent = request.allHTTPHeaderFields ?? [:]
    method = request.httpMethod ?? "GET"
    url = request.url.map { redaction.url($0) } ?? ""
    fields = HeaderFieldList(sent.reduce(into: [:]) { $0[$1.key] = redaction.field($1.key, $1.value, of: request.url) })
    fingerprints = Self.fingerprints(HeaderFieldList(sent), redaction)
    body = HARRequestBody(request, redaction: redaction, limit: limit)
  }

  init(method: String, url: String, fields: HeaderFieldList, fingerprints: [String: String], body: HARRequestBody?) {
    self.method = method
    self.url = url
    self.fields = fields
    self.fingerprints = fingerprints
    self.body = body
  }

  /// Returns the fingerprints of the secret fields that may distinguish one user from another.
  static func fingerprints(_ fields: HeaderFieldList, _ redaction: HARRedaction) -> [String: String] {
    fields.fields.reduce(into: [:]) { result, field in
      let name = field.name.lowercased()
      guard SecretFields.contains(name), !RequestIdentity.neutral.contains(name) else { return }
      result[name] = redaction.fingerprint(field.value)
    }
  }

  /// The method and the URL.
  var line: String { "\(method) \(url)" }

  var cost: Int {
    url.utf8.count + (body?.data?.count ?? 0)
      + fields.fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
  }
}
