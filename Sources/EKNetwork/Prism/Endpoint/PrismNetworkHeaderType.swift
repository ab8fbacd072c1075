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
  /// XML (RFC 7303).
  case xml = "application/xml"
  /// A CSS style sheet (RFC 2318).
  case css = "text/css"
  /// JavaScript (RFC 9239).
  case javascript = "text/javascript"
  /// Bytes of unknown type.
  case octetStream = "application/octet-stream"
  /// A JPEG image.
  case jpeg = "image/jpeg"
  /// A PNG image.
  case png = "image/png"
  /// A GIF image.
  case gif = "image/gif"
  /// An SVG image.
  case svg = "image/svg+xml"
  /// MP3 audio (RFC 3003).
  case mp3 = "audio/mpeg"
  /// An MPEG-4 video.
  case mp4 = "video/mp4"
  /// A PDF document.
  case pdf = "application/pdf"
  /// A ZIP archive.
  case zip = "application/zip"
  /// Any media type; for `Accept` (RFC 9110 §12.5.1).
  case any = "*/*"
  /// Any image; for `Accept`.
  case image = "image/*"
  /// Any audio; for `Accept`.
  case audio = "audio/*"
  /// Any video; for `Accept`.
  case video = "video/*"
}
