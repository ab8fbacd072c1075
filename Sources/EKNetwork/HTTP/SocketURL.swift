import Foundation

extension URL {
  /// Whether it certainly has neither a user nor a socket. Every request asks, and taking a URL apart is expensive.
  var isPlain: Bool {
    var text = absoluteString
    return text.withUTF8 { !$0.contains { $0 == UInt8(ascii: "@") || $0 == UInt8(ascii: "+") } }
  }

  /// The Unix domain socket that an `http+unix` URL has instead of a host: `http+unix://%2Frun%2Fdocker.sock/info` is `/info` of
  /// the server at `/run/docker.sock`, and a name with `@` stands for an abstract socket. `nil` for any other URL.
  ///
  /// No standard defines the scheme. Clients of Docker and of other local servers use it in this form.
  var socketPath: String? {
    // Every request asks, and few have such a URL.
    guard absoluteString.utf8.dropFirst(4).first == UInt8(ascii: "+"), scheme?.lowercased() == Origin.socketScheme
    else { return nil }
    return host(percentEncoded: false)
  }
}
