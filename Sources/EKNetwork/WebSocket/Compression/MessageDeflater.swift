import CZlib

/// Compresses the messages of one direction (RFC 7692 §7.2.1).
///
/// It has one owner, the sender of a connection.
final class MessageDeflater {
  private let deflater: OpaquePointer
  private let keepsContext: Bool

  /// Returns `nil` if zlib is not available or does not support the window: its raw streams need at least 9 bits.
  init?(windowBits: Int, keepsContext: Bool) {
    guard (9...15).contains(windowBits), let deflater = ekn_deflater_create(Int32(windowBits)) else { return nil }
    self.deflater = deflater
    self.keepsContext = keepsContext
  }

  deinit { ekn_deflater_free(deflater) }

  /// Compresses one message and removes the end of the sync flush; returns `nil` if zlib fails.
  func deflate(_ message: UnsafeRawBufferPointer) -> [UInt8]? {
    var result: [UInt8] = []
    result.reserveCapacity(message.count / 2 + 64)
    var source = message.baseAddress?.assumingMemoryBound(to: UInt8.self)
    var sourceLength = message.count
    var isFull = true
    while isFull || sourceLength > 0 {
      var isCorrupt = false
      let block = [UInt8](unsafeUninitializedCapacity: 64 * 1024) { buffer, initialized in
        var target = buffer.baseAddress
        var targetLength = buffer.count
        isCorrupt = ekn_deflater_run(deflater, &source, &sourceLength, &target, &targetLength) != EKN_ZLIB_OK
        initialized = buffer.count - targetLength
        isFull = targetLength == 0
      }
      guard !isCorrupt else { return nil }
      result += block
    }
    if !keepsContext { ekn_deflater_reset(deflater) }
    if result.suffix(4) == [0, 0, 0xFF, 0xFF] { result.removeLast(4) }
    // §7.2.3.6: an empty message is one empty block, which zlib does not write twice in a row.
    return result.isEmpty ? [0] : result
  }
}

/// The negotiated parameters of permessage-deflate (RFC 7692 §7.1).
struct DeflateParameters: Sendable, Equatable {
  var clientKeepsContext: Bool
  var serverKeepsContext: Bool
  var clientWindowBits: Int

  static func offer(_ offer: WebSocketCompression) -> String {
    var value = "permessage-deflate"
    if !offer.serverContextTakeover { value += "; server_no_context_takeover" }
    if !offer.clientContextTakeover { value += "; client_no_context_takeover" }
    if offer.serverMaxWindowBits < 15 { value += "; server_max_window_bits=\(offer.serverMaxWindowBits)" }
    value += "; client_max_window_bits"
    if offer.clientMaxWindowBits < 15 { value += "=\(offer.clientMaxWindowBits)" }
    return value
  }

  /// Parses the response to an offer; returns `nil` if there is none. Parameters that were not offered or are invalid
  /// fail the handshake (§5.1, RFC 6455 §4.1).
  static func agreed(_ response: String?, offer: WebSocketCompression?) throws(WebSocketError) -> DeflateParameters? {
    guard let response, !response.isEmpty else { return nil }
    guard let offer else { throw refusal("an extension that was not offered") }
    var parts = response.split(separator: ";", omittingEmptySubsequences: false).map { $0.trimmingBlanks() }
    guard parts.removeFirst().lowercased() == "permessage-deflate" else {
      throw refusal("an extension that was not offered")
    }
    var result = DeflateParameters(
      clientKeepsContext: offer.clientContextTakeover, serverKeepsContext: true,
      clientWindowBits: offer.clientMaxWindowBits)
    var seen: Set<String> = []
    var serverBits: Int?
    for part in parts {
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = pair.first.map { $0.trimmingBlanks().lowercased() } ?? ""
      let value = pair.count > 1 ? pair[1].trimmingBlanks().unquoted() : nil
      guard seen.insert(name).inserted else { throw refusal("\(name) twice") }
      switch (name, value) {
      case ("server_no_context_takeover", nil): result.serverKeepsContext = false
      case ("client_no_context_takeover", nil): result.clientKeepsContext = false
      case ("server_max_window_bits", let value?):
        serverBits = try bits(value, atMost: offer.serverMaxWindowBits)
      case ("client_max_window_bits", let value?):
        result.clientWindowBits = try bits(value, atMost: offer.clientMaxWindowBits)
      default: throw refusal("the parameter \(name)")
      }
    }
    // §7.1.1.1, §7.1.2.1: the server has to accept what the client requested of it.
    guard offer.serverContextTakeover || !result.serverKeepsContext else { throw refusal("an unwanted context") }
    guard offer.serverMaxWindowBits == 15 || serverBits != nil else { throw refusal("a window too large") }
    return result
  }

  private static func bits(_ value: String, atMost limit: Int) throws(WebSocketError) -> Int {
    guard let bits = Int(value), (8...15).contains(bits), value.first != "0", value.first != "+", bits <= limit else {
      throw refusal("a window of \(value) bits")
    }
    return bits
  }

  private static func refusal(_ what: String) -> WebSocketError {
    .invalidHandshake(reason: "the server chose \(what)")
  }
}
