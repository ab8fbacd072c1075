import Testing

@testable import EKNetwork

@Suite struct ConnectionLanesTests {
  private func take(_ lanes: inout ConnectionLanes, _ count: Int) -> [Int] { (0..<count).map { _ in lanes.take() } }

  @Test func smallLimitOrOneLoopUsesTheFirstLane() {
    for (connections, loops) in [(64, 1), (1, 8), (6, 8), (63, 8), (0, 8)] {
      var lanes = ConnectionLanes(connections: connections, loops: loops)
      #expect(take(&lanes, 100).allSatisfy { $0 == 0 })
      lanes.release(0)
      #expect(lanes.take() == 0)
    }
  }

  @Test func nextLaneIsUsedWhenTheFirstIsFull() {
    var lanes = ConnectionLanes(connections: 65, loops: 8)
    #expect(take(&lanes, 65) == Array(repeating: 0, count: 33) + Array(repeating: 1, count: 32))
    lanes.release(1)
    lanes.release(0)
    #expect(take(&lanes, 2) == [0, 1])
  }

  @Test func laneWithTheFewestRequestsIsNext() {
    var lanes = ConnectionLanes(connections: 97, loops: 3)
    #expect(take(&lanes, 33).allSatisfy { $0 == 0 })
    #expect(take(&lanes, 6) == [1, 2, 1, 2, 1, 2])
    lanes.release(1)
    lanes.release(1)
    #expect(take(&lanes, 3) == [1, 1, 1])
    #expect(take(&lanes, 57).count { $0 == 1 } == 28)
    // A request above the limit still gets a loop.
    #expect(lanes.take() == 0)
  }

  /// Whatever starts and ends, the peaks of all loops together stay within the limit.
  @Test(arguments: [6, 64, 100, 257]) func peaksStayWithinTheLimit(connections: Int) {
    var random = SystemRandomNumberGenerator()
    for loops in 1...9 {
      var lanes = ConnectionLanes(connections: connections, loops: loops)
      var active: [Int] = []
      var peaks = Array(repeating: 0, count: loops)
      for _ in 0..<2_000 {
        if active.count < connections, Bool.random(using: &random) {
          active.append(lanes.take())
        } else if !active.isEmpty {
          lanes.release(active.remove(at: Int.random(in: active.indices, using: &random)))
        }
        for loop in 0..<loops { peaks[loop] = max(peaks[loop], active.count { $0 == loop }) }
      }
      #expect(peaks.reduce(0, +) <= connections, "\(loops) loops")
    }
  }
}
