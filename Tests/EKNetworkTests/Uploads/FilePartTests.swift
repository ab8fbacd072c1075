import Foundation
import Testing

@testable import EKNetwork

struct FilePartTests {
  private let folder: ScratchFolder
  private let content = Data.noise(1_000)

  init() throws { folder = try ScratchFolder() }

  private func read(_ segment: FileSegment) throws -> Data {
    let reader = SegmentReader([.file(segment)])
    var data = Data()
    var block = [UInt8](repeating: 0, count: 64)
    while true {
      let count = try block.withUnsafeMutableBytes { try reader.read(into: $0) }
      guard count > 0 else { return data }
      data += block[..<count]
    }
  }

  @Test(arguments: [(0, 1_000), (0, 0), (1, 998), (500, 500), (999, 1), (1_000, 0), (900, 5_000), (2_000, 1), (-5, 3)])
  func partIsReadFromItsOffset(_ offset: Int, length: Int) throws {
    let whole = try FileSegment(try folder.file("a", content))
    let part = whole.part(from: Int64(offset), length: Int64(length))
    let expected = content.dropFirst(max(0, offset)).prefix(length)
    #expect(part.size == Int64(expected.count))
    #expect(part.isWhole == (expected.count == 1_000))
    #expect(try read(part) == Data(expected))
  }

  @Test func partOfAPartIsWithinIt() throws {
    let part = try FileSegment(try folder.file("a", content)).part(from: 100, length: 50).part(from: 10, length: 100)
    #expect(try read(part) == content[110..<150])
  }

  /// The version is that of the file when the whole was measured.
  @Test func changedFileIsNotRead() throws {
    let file = try folder.file("a", content)
    let whole = try FileSegment(file)
    try Data(content.reversed()).write(to: file)
    #expect(throws: RequestBodyError.fileChanged(file, announced: 1_000, actual: 1_000)) {
      try read(whole.part(from: 10, length: 10))
    }
    try content.prefix(500).write(to: file)
    #expect(throws: RequestBodyError.fileChanged(file, announced: 1_000, actual: 500)) {
      try read(whole.part(from: 10, length: 10))
    }
  }
}
