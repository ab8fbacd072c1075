#if os(Linux)
  import Testing

  @testable import EKNetwork

  struct TunnelWatchTests {
    private func steps(_ watch: inout TunnelWatch, _ count: Int, sockets: UInt32) -> (checks: Int, ends: Int) {
      (0..<count).reduce(into: (0, 0)) { counts, _ in
        switch watch.step(sockets: sockets) {
        case .proceed: break
        case .check: counts.0 += 1
        case .end: counts.1 += 1
        }
      }
    }

    @Test func responseIsLimitedAndTheTransferChecked() {
      var watch = TunnelWatch()
      #expect(steps(&watch, TunnelWatch.maximumSize, sockets: 1) == (300, 0))
      #expect(steps(&watch, 1, sockets: 1) == (0, 1))
      // Another connection, perhaps after a stale one.
      #expect(steps(&watch, TunnelWatch.maximumSize, sockets: 2) == (300, 0))
    }
  }
#endif
