import Foundation

/// The URL that a part of a download came from, without what differs each time that a redirect leads there.
enum DownloadSource {
  /// The parameters of a signature, in lower case: those of Amazon S3 and CloudFront, Google Cloud Storage, Azure
  /// Storage, GitHub, Alibaba OSS, Tencent COS, Akamai and nginx.
  private static let signature: Set<String> = [
    "__token__", "awsaccesskeyid", "expires", "googleaccessid", "hdnea", "hdnts", "jwt", "key-pair-id", "md5",
    "ossaccesskeyid", "policy", "se", "security-token", "sig", "signature", "ske", "skt", "sp", "st", "token",
  ]
  private static let signaturePrefixes = ["x-amz-", "x-goog-", "x-oss-", "q-"]

  /// Returns a digest of the URL without its fragment and the parameters of its signature. Others may name the file.
  static func digest(of url: URL) -> String {
    var text = url.absoluteString[...]
    if let fragment = text.firstIndex(of: "#") { text = text[..<fragment] }
    let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let query = parts.dropFirst().first?.split(separator: "&").filter { !isSignature($0) } ?? []
    let name = (parts.first.map(String.init) ?? "") + (query.isEmpty ? "" : "?" + query.joined(separator: "&"))
    return SHA256.hexadecimal(Array(name.utf8))
  }

  private static func isSignature(_ parameter: Substring) -> Bool {
    let name = parameter.prefix { $0 != "=" }.lowercased()
    return signature.contains(name) || signaturePrefixes.contains { name.hasPrefix($0) }
  }
}
