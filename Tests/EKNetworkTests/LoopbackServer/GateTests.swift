import Foundation
import LoopbackServer
import Testing

@Suite("Gate", .timeLimit(.minutes(10)))
struct GateTests {
  @Test("All who wait go on when it opens, tasks and threads, and so do those who come later")
  func opens() async {
    let gate = Gate()
    #expect(!gate.isOpen)
    await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<10 { group.addTask { await gate.wait() } }
      for _ in 0..<5 {
        group.addTask {
          await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: gate.waitBlocking()) }
          }
        }
      }
      gate.open()
      gate.open()
      for await opened in group { #expect(opened) }
    }
    #expect(gate.isOpen)
    #expect(await gate.wait())
    #expect(gate.waitBlocking())
  }

  @Test("A cancelled task and one that is out of time stop waiting")
  func givesUp() async {
    let gate = Gate()
    let waiting = Task { await gate.wait() }
    waiting.cancel()
    #expect(await waiting.value == false)
    #expect(await gate.wait(timeout: .milliseconds(1)) == false)
    #expect(gate.waitBlocking(timeout: .milliseconds(1)) == false)
  }
}
