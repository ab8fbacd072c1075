#if os(Linux)
  import Foundation
  import Testing

  @testable import EKNetwork

  @Suite struct BodyBlockTests {
    /// Fills blocks from pieces, as the event loop does.
    private func blocks(of data: Data, pieces: Int, announced: Bool) -> [Data] {
      var block = BodyBlock()
      var found: [Data] = []
      var rest = data[...]
      while !rest.isEmpty {
        let piece = rest.prefix(pieces)
        rest = rest.dropFirst(pieces)
        piece.withUnsafeBytes { block.append($0, outstanding: announced ? Int64(rest.count) : 0) }
        if block.isFull { found.append(block.takeData() ?? Data()) }
      }
      if let last = block.takeData() { found.append(last) }
      return found
    }

    @Test(arguments: [1, 100, 16_384, 131_072, 262_143, 262_144, 262_145, 1_000_000], [1_000, 16_384])
    func noBytesAreLostForAnySize(size: Int, pieces: Int) {
      let data = Data.noise(size)
      for announced in [false, true] {
        let blocks = blocks(of: data, pieces: pieces, announced: announced)
        #expect(Data(blocks.joined()) == data)
        #expect(blocks.dropLast().allSatisfy { $0.count >= BodyBlock.size })
      }
    }

    @Test func memoryInUseIsNotReused() {
      let data = Data.noise(3 << 20)
      // All blocks of the first round are still held while the second one is filled.
      let first = blocks(of: data, pieces: 16_384, announced: true)
      let second = blocks(of: Data(data.reversed()), pieces: 16_384, announced: true)
      #expect(Data(first.joined()) == data)
      #expect(Data(second.joined()) == Data(data.reversed()))
    }

    @Test(arguments: [1, 1_000, 50_000, 100_000, 262_144])
    func fewBytesHoldLittleMemory(size: Int) {
      var block = BodyBlock()
      Data.noise(size).withUnsafeBytes { block.append($0, outstanding: .max) }
      #expect(block.memory <= 4 * size)
      #expect(block.takeData() == Data.noise(size))
      #expect(block.memory == 0)
    }

    @Test func emptyBlockHasNoData() {
      var block = BodyBlock()
      #expect(block.takeData() == nil)
      block.append(UnsafeRawBufferPointer(start: nil, count: 0), outstanding: 10)
      #expect(block.takeData() == nil)
    }
  }
#endif
