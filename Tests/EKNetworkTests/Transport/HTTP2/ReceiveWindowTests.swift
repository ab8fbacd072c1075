import Testing

@testable import EKNetwork

struct ReceiveWindowTests {
  @Test func unreadStreamHasNoMore() {
    var window = ReceiveWindow()
    window.received(100_000)
    window.received(28 * 1024)
    #expect(window.unread == 100_000 + 28 * 1024)
    #expect(window.size == 128 * 1024)
  }

  @Test func growsWithWhatIsRead() {
    var window = ReceiveWindow()
    var growths: [Int] = []
    for _ in 0..<200 {
      window.received(64 * 1024)
      let (count, growth) = window.consume(spare: .max)
      #expect(count == 64 * 1024)
      if growth > 0 { growths.append(growth / 1024) }
    }
    #expect(growths == [128, 256, 512, 1_024, 2_048])
    #expect(window.size == ReceiveWindow.maximum)
    #expect(window.unread == 0)
  }

  @Test func growsNoMoreThanThereIsRoomFor() {
    var window = ReceiveWindow()
    for spare in [ReceiveWindow.initial - 1, 0, -1] {
      window.received(ReceiveWindow.initial)
      let growth = window.consume(spare: spare).growth
      #expect(growth == 0)
    }
    // As soon as there is room.
    let growth = window.consume(spare: ReceiveWindow.initial).growth
    #expect(growth == ReceiveWindow.initial)
    #expect(window.size == 2 * ReceiveWindow.initial)
  }

  @Test func nothingReadIsNothing() {
    var window = ReceiveWindow()
    let (count, growth) = window.consume(spare: .max)
    #expect(count == 0)
    #expect(growth == 0)
  }
}
