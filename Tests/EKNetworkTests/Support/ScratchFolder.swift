import Foundation

/// A folder that is removed at the end of this value's life.
final class ScratchFolder: Sendable {
  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("EKNetwork-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  subscript(_ name: String) -> URL { url.appendingPathComponent(name) }

  /// Writes a file.
  @discardableResult
  func file(_ name: String, _ data: Data) throws -> URL {
    try data.write(to: self[name])
    return self[name]
  }

  /// The names of everything in it, hidden or not.
  var names: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []).sorted()
  }
}

extension Data {
  /// Bytes without a pattern that a misplaced block could hide in: those of SplitMix64, of which a shorter request has the first.
  /// Eight at a time, and without generic operators, because tests make many megabytes of them and are not optimized.
  static func noise(_ count: Int) -> Data {
    let words = (count + 7) / 8
    let noise = [UInt64](unsafeUninitializedCapacity: words) { buffer, filled in
      guard let start = buffer.baseAddress else { return }
      var (state, index) = (0x9E37_79B9_7F4A_7C15 as UInt64, 0)
      while index < words {
        state = state &+ 0x9E37_79B9_7F4A_7C15
        var word = (state ^ (state &>> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word &>> 27)) &* 0x94D0_49BB_1331_11EB
        start[index] = word ^ (word &>> 31)
        index = index &+ 1
      }
      filled = words
    }
    return noise.withUnsafeBytes { Data($0.prefix(count)) }
  }
}
