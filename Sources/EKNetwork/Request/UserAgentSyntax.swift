/// Encodes external text for its two places in a `User-Agent` value (RFC 9110 §10.1.5).
enum UserAgentSyntax {
  /// A product name may contain a space, which makes it two products, as in `My App/1.0`. A bare `%` would make the
  /// encoded characters ambiguous.
  private static let product = ByteSet.alphanumerics(and: " !#$&'*+-.^_`|~")
  /// `ctext` (RFC 9110 §5.6.5) without the `;` that separates the comment's parts, and without `%`.
  private static let comment = ByteSet.alphanumerics(and: " !#$&'*+-.^_`|~,:/<=>?@[]{}\"")

  /// Returns the text encoded as the name or the version of a product.
  static func product(_ text: String) -> String { encode(text, allowed: product) }

  /// Returns the text encoded as one part of a comment.
  static func comment(_ text: String) -> String { encode(text, allowed: comment) }

  private static func encode(_ text: String, allowed: ByteSet) -> String {
    var output: [UInt8] = []
    PercentEncoding.append(text, to: &output, allowed: allowed)
    return String(decoding: output, as: UTF8.self)
  }
}
