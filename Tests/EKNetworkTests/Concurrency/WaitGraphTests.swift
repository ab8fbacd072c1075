import Testing

@testable import EKNetwork

struct WaitGraphTests {
  @Test(
    arguments: [
      // Direct, through one, through two; back and forth; no wait for itself.
      ([], "aa", false), (["ab"], "ba", false), (["ab", "bc"], "ca", false), (["ab"], "ab", true),
      (["ab", "bc"], "ac", true), (["ab", "cb"], "ac", true), (["ab", "ac", "bd", "cd"], "da", false),
    ] as [([String], String, Bool)])
  func waitingForItselfIsRefused(_ waits: [String], _ wait: String, _ begins: Bool) {
    var graph = WaitGraph<Character>()
    for wait in waits { _ = graph.begin(Array(wait)[0], for: Array(wait)[1]) }
    let result = graph.begin(Array(wait)[0], for: Array(wait)[1])
    #expect(result == begins)
    if begins { graph.end(Array(wait)[0], for: Array(wait)[1]) }
    for wait in waits { graph.end(Array(wait)[0], for: Array(wait)[1]) }
    #expect(graph.isEmpty)
  }

  @Test func repeatedWaitsEndOneByOne() {
    var graph = WaitGraph<Int>()
    let begins = [graph.begin(1, for: 2), graph.begin(1, for: 2), graph.begin(2, for: 1)]
    #expect(begins == [true, true, false])
    graph.end(1, for: 2)
    let afterOne = graph.begin(2, for: 1)
    graph.end(1, for: 2)
    let afterBoth = graph.begin(2, for: 1)
    #expect([afterOne, afterBoth] == [false, true])
  }

  /// What is over delays nobody, although its tasks still wait.
  @Test func workThatIsOverDoesNotWait() {
    var graph = WaitGraph<Int>()
    _ = graph.begin(1, for: 2)
    graph.remove(1)
    let begins = graph.begin(2, for: 1)
    #expect(begins)
    graph.end(1, for: 2)
    #expect(!graph.isEmpty)
  }
}
