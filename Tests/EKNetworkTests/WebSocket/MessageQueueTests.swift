import Foundation
import Testing

@testable import EKNetwork

struct MessageQueueTests {
  @Test func messagesAreTakenInOrder() {
    var queue = MessageQueue()
    var (added, taken) = (0, 0)
    for round in 1...200 {
      for _ in 0..<round % 7 {
        queue.append(.text(String(added)))
        added += 1
      }
      for _ in 0..<round % 5 {
        guard let message = queue.popFirst() else {
          #expect(queue.isEmpty && queue.count == 0 && queue.cost == 0)
          continue
        }
        #expect(message == .text(String(taken)))
        taken += 1
      }
      #expect(queue.count == added - taken)
      let cost = (taken..<added).reduce(0) { $0 + WebSocketMessage.text(String($1)).cost }
      #expect(queue.cost == cost)
    }
    #expect(added > taken)
  }

  /// A server decides how many messages arrive before a connection is lost.
  @Test func manySmallMessagesAreTakenQuickly() {
    var queue = MessageQueue()
    let count = 200_000
    for number in 0..<count { queue.append(.binary(Data([UInt8(number & 0xFF)]))) }
    for number in 0..<count where queue.popFirst() != .binary(Data([UInt8(number & 0xFF)])) {
      Issue.record("\(number) is out of order")
      return
    }
    #expect(queue.isEmpty)
  }
}
