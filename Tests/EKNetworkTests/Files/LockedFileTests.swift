import Foundation
import Testing

@testable import EKNetwork

struct LockedFileTests {
  private let folder: ScratchFolder

  init() throws { folder = try ScratchFolder() }

  /// Returns why the file cannot be locked.
  private func failure(_ isNamed: (OpenFile, URL) -> Bool = { $0.isNamed($1) }) -> Int32? {
    if OpenFile.locked(folder["a"], mode: 0o600, isNamed: isNamed) != nil { return nil }
    return errno
  }

  @Test func fileHasOneOwner() throws {
    let first = try #require(OpenFile.locked(folder["a"], mode: 0o600))
    #expect(first.isNew)
    #expect(failure() == EWOULDBLOCK)
    unlink(folder["a"].path)
    #expect(OpenFile.locked(folder["a"], mode: 0o600)?.isNew == true)
    #expect(OpenFile.locked(folder["a"], mode: 0o600)?.isNew == false)
    withExtendedLifetime(first) {}
  }

  @Test func linkIsNotFollowed() throws {
    #expect(symlink(folder["target"].path, folder["a"].path) == 0)
    #expect(failure() == ELOOP)
    #expect(folder.names == ["a"])
  }

  @Test func fileThatIsReplacedEachTimeIsGivenUp() throws {
    var openings = 0
    let code = failure { _, _ in
      openings += 1
      return false
    }
    #expect(code == EWOULDBLOCK)
    #expect(openings == 8)
  }
}
