import Foundation
import Testing

@testable import EKNetwork

struct ControlScannerTests {
  private static let bytes: [UInt8] =
    [0x89, 2, 1, 2]  // a ping
    + [0x01, 3, 0x89, 0, 0x89]  // a fragment that looks like pings
    + [0x8A, 1, 7]  // a pong
    + [0x80, 126, 0, 200] + [UInt8](repeating: 0x89, count: 200)
    + [0xC2, 127, 0, 0, 0, 0, 0, 1, 0, 0] + [UInt8](repeating: 0x8A, count: 65_536)
    + [0x89, 0]
  private static let controls: [ControlScanner.Control] = [.ping(Data([1, 2])), .pong(Data([7])), .ping(Data())]

  @Test func controlsAreTheSameForAnyChunking() {
    let bytes = Self.bytes
    for size in [1, 2, 3, 7, 255, bytes.count] {
      var scanner = ControlScanner()
      var controls: [ControlScanner.Control] = []
      for start in stride(from: 0, to: bytes.count, by: size) {
        controls += scanner.scan(bytes[start..<min(start + size, bytes.count)])
      }
      #expect(controls == Self.controls)
    }
    for cut in 0..<230 {
      var scanner = ControlScanner()
      let controls = scanner.scan(bytes[..<cut]) + scanner.scan(bytes[cut...])
      #expect(controls == Self.controls)
    }
  }

  @Test(
    arguments: [
      [0x88, 0], [0x89, 0x80], [0x89, 126], [0x09, 0], [0xF9, 0], [0x8B, 0], [0x82, 126, 0, 1],
    ] as [[UInt8]])
  func nothingIsScannedAfterTheEnd(_ end: [UInt8]) {
    var scanner = ControlScanner()
    let controls = scanner.scan([0x89, 0] + end + [0x89, 0])
    #expect(controls == [.ping(Data())])
    #expect(scanner.isOver)
    let more = scanner.scan([0x89, 0])
    #expect(more.isEmpty)
  }
}
