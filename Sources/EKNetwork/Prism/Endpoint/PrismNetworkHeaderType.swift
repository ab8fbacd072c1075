/// Media types for `Content-Type` and `Accept`.
public enum PrismNetworkHeaderType: String, CaseIterable, Sendable {
  /// JSON (RFC 8259).
  case json = "application/json"
  /// A URL-encoded form.
  case formURLEncoded = "application/x-www-form-urlencoded"
  /// A form with files (RFC 7578). As a `Content-Type` it needs a boundary parameter.
  case multipartFormData = "multipart/form-data"
  /// Plain text.
  case plainText = "text/plain"
  /// HTML.
  case html = "text/html"
  /// Bytes of unknown type.
  case octetStream = "application/octet-stream"
  /// A JPEG image.
  case jpeg = "image/jpeg"
  /// A PNG image.
  case png = "image/png"
  /// An MPEG-4 video.
  case mp4 = "video/mp4"
  /// A PDF document.
  case pdf = "application/pdf"
  /// Any media type; for `Accept` (RFC 9110 §12.5.1).
  case any = "*/*"
  /// Any image; for `Accept`.
  case image = "image/*"
}
