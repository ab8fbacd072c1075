import Foundation

extension SubjectPublicKey {
  /// Returns whether a certificate's key is one of the pinned ones, which are SHA-256 hashes in Base64.
  static func isPinned(_ certificate: [UInt8], by pins: Set<String>) -> Bool {
    guard let key = bytes(inCertificate: certificate) else { return false }
    return pins.contains(Data(SHA256.digest(Array(key))).base64EncodedString())
  }
}
