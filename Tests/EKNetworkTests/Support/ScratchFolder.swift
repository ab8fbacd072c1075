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
  /// Bytes without a pattern that a misplaced block could hide in.
  static func noise(_ count: Int) -> Data {
    var state: UInt64 = 0x9E37_79B9_7F4A_7C15
    var data = Data(count: count)
    data.withUnsafeMutableBytes { bytes in
      for index in bytes.indices {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        bytes[index] = UInt8(truncatingIfNeeded: state >> 56)
      }
    }
    return data
  }
}
