import Foundation
import LoopbackServer
import Testing

@Suite("Gate", .timeLimit(.minutes(10)))
struct GateTests {
  @Test("Opening resumes all waiting tasks and threads, and later waits return at once")
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

  @Test("A cancelled or timed-out wait returns false")
  func givesUp() async {
    let gate = Gate()
    let waiting = Task { await gate.wait() }
    waiting.cancel()
    #expect(await waiting.value == false)
    #expect(await gate.wait(timeout: .milliseconds(1)) == false)
    #expect(gate.waitBlocking(timeout: .milliseconds(1)) == false)
  }
}
