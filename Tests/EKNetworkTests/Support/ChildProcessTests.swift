#if os(Linux)
  import Foundation
  import Testing

  @Suite(.timeLimit(.minutes(10)))
  struct ChildProcessTests {
    @Test func unawaitedChildDoesNotBlockExitTests() async throws {
      for program in ["false", "cat"] { _ = try ChildProcess(program, []) }
      await #expect(processExitsWith: .success) {}
    }

    @Test func writingToAnExitedChildIsAnError() throws {
      let child = try ChildProcess("false", [])
      child.waitUntilExit()
      // Another child that is just being spawned has the pipe's other end for a moment.
      #expect(throws: (any Error).self) { for _ in 0..<1_000_000 { try child.write(Data("a".utf8)) } }
    }

    @Test func exitIsWaitedForOnce() throws {
      let child = try ChildProcess("/bin/sh", ["-c", "exit 3"])
      #expect(child.waitUntilExit() == 3 << 8)
      #expect(child.waitUntilExit() == 3 << 8)
      #expect(throws: ChildProcess.Failure.self) { _ = try ChildProcess("false", []).run() }
    }
  }
#endif
