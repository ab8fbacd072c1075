#if os(Linux)
  import Foundation
  import Testing

  @testable import EKNetwork

  struct DeliveryPaceTests {
    private static let (fast, period) = (DeliveryPace.fastCount, DeliveryPace.period)

    @Test(arguments: [(100, 10_000), (30_000, 1_000_000), (1 << 20, 1_000_001)] as [(Int, UInt64)])
    func slowBodyIsNotDelayed(_ count: Int, every interval: UInt64) {
      var pace = DeliveryPace()
      for round in 1...300 as ClosedRange<UInt64> {
        #expect(pace.wait(with: count, at: round * interval) == nil)
        pace.delivered(count, at: round * interval)
      }
    }

    @Test func fastBodyIsGathered() {
      var pace = DeliveryPace()
      pace.delivered(Self.fast - 1, at: 5)
      #expect(pace.wait(with: 1, at: 6) == nil)
      pace.delivered(1, at: 7)
      #expect(pace.wait(with: 0, at: 10) == nil)
      #expect(pace.wait(with: 1, at: 10) == 10 + DeliveryPace.patience)
      // The first bytes decide for how long.
      #expect(pace.wait(with: DeliveryPace.enough - 1, at: 100) == 10 + DeliveryPace.patience)
      #expect(pace.wait(with: DeliveryPace.enough, at: 100) == nil)
      pace.delivered(DeliveryPace.enough, at: 100)
      #expect(pace.wait(with: 1, at: 200) == 200 + DeliveryPace.patience)
      #expect(pace.wait(with: 2, at: 200 + DeliveryPace.patience) == nil)
    }

    @Test func bodyThatPausesIsNotGathered() {
      var pace = DeliveryPace()
      pace.delivered(Self.fast, at: 5)
      #expect(pace.wait(with: 1, at: 5 + Self.period) == nil)
      pace.delivered(1, at: 5 + Self.period)
      #expect(pace.wait(with: 1, at: 6 + Self.period) == nil)
      // A period begins with its first bytes.
      pace.delivered(Self.fast - 1, at: 7 + Self.period)
      #expect(pace.wait(with: 1, at: 6 + 2 * Self.period) != nil)
    }

    @Test func endOfTimeIsNoTrap() {
      var pace = DeliveryPace()
      pace.delivered(Self.fast, at: .max - 1)
      #expect(pace.wait(with: 1, at: .max - 1) == .max)
      #expect(pace.wait(with: 1, at: .max) == nil)
      pace.delivered(1, at: .max)
    }
  }

  struct BodyBlockTests {
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
        #expect(blocks.reduce(Data(), +) == data)
        #expect(blocks.dropLast().allSatisfy { $0.count >= BodyBlock.size })
      }
    }

    @Test func memoryInUseIsNotReused() {
      let data = Data.noise(3 << 20)
      // All blocks of the first round are still held while the second one is filled.
      let first = blocks(of: data, pieces: 16_384, announced: true)
      let other = data.dropFirst(1) + [0]
      let second = blocks(of: other, pieces: 16_384, announced: true)
      #expect(first.reduce(Data(), +) == data)
      #expect(second.reduce(Data(), +) == other)
    }

    @Test(arguments: [1, 1_000, 50_000, 100_000, 262_144])
    func fewBytesHoldLittleMemory(size: Int) {
      var block = BodyBlock()
      Data.noise(size).withUnsafeBytes { block.append($0, outstanding: .max) }
      #expect(block.memory <= 4 * size)
      #expect(block.takeData() == Data.noise(size))
      #expect(block.memory == 0)
    }

    @Test(arguments: [0, 1, 1_000, 150_000, 262_143], [1, 4_000, 70_000, 1_000_000])
    func bytesAreReceivedIntoTheBlock(kept: Int, limit: Int) {
      let data = Data.noise(2 << 20)
      var block = BodyBlock()
      var found = Data()
      data.prefix(kept).withUnsafeBytes { block.append($0, outstanding: 0) }
      var (rest, rounds) = (data.dropFirst(kept), 0)
      // So many single bytes fill the block that begins with 150,000.
      while !rest.isEmpty, found.count < 1 << 20, rounds < 120_000 {
        rounds += 1
        let count = block.receive(upTo: limit) { space in
          let count = min(space.count, rest.count)
          rest.prefix(count).copyBytes(to: space)
          return (count, count)
        }
        #expect(count > 0 && count <= limit)
        rest = rest.dropFirst(count)
        if block.isFull { found += block.takeData() ?? Data() }
      }
      found += block.takeData() ?? Data()
      #expect(found == data.prefix(found.count))
    }

    @Test func nothingReceivedHoldsNoMemory() {
      var block = BodyBlock()
      #expect(block.receive(upTo: .max) { _ in (0, "nothing") } == "nothing")
      #expect(block.memory == 0)
      #expect(block.takeData() == nil)
      Data.noise(100).withUnsafeBytes { block.append($0, outstanding: 0) }
      #expect(block.receive(upTo: .max) { _ in (0, "nothing") } == "nothing")
      #expect(block.takeData() == Data.noise(100))
    }

    @Test func emptyBlockHasNoData() {
      var block = BodyBlock()
      #expect(block.takeData() == nil)
      block.append(UnsafeRawBufferPointer(start: nil, count: 0), outstanding: 10)
      #expect(block.takeData() == nil)
    }
  }
#endif
