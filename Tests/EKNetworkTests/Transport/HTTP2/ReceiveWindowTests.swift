import Testing

@testable import EKNetwork

@Suite struct ReceiveWindowTests {
  @Test func unreadStreamHasNoMore() {
    var window = ReceiveWindow()
    window.received(100_000)
    window.received(28 * 1024)
    #expect(window.unread == 100_000 + 28 * 1024)
    #expect(window.size == 128 * 1024)
  }

  @Test func growsWithWhatIsRead() {
    var window = ReceiveWindow()
    var sizes: [Int] = []
    for _ in 0..<200 {
      window.received(64 * 1024)
      let (count, grown) = window.consume()
      #expect(count == 64 * 1024)
      if let grown { sizes.append(grown / 1024) }
    }
    #expect(sizes == [256, 512, 1_024, 2_048, 4_096])
    #expect(window.size == ReceiveWindow.maximum)
    #expect(window.unread == 0)
  }

  @Test func nothingReadIsNothing() {
    var window = ReceiveWindow()
    let (count, grown) = window.consume()
    #expect(count == 0)
    #expect(grown == nil)
  }
}
