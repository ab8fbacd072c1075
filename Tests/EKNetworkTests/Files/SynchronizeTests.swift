import Foundation
import Testing

@testable import EKNetwork

struct SynchronizeTests {
  private let folder: ScratchFolder

  init() throws { folder = try ScratchFolder() }

  @Test func filesAndFoldersAreSynchronized() throws {
    for url in [try folder.file("a", Data([1])), folder.url] {
      let open = try #require(OpenFile(url.path, O_RDONLY | O_CLOEXEC))
      #expect(open.synchronize())
    }
  }

  @Test func failureIsReported() throws {
    let pipe = folder["pipe"]
    #expect(mkfifo(pipe.path, 0o600) == 0)
    let open = try #require(OpenFile(pipe.path, O_RDWR | O_CLOEXEC))
    #expect(!open.synchronize())
  }
}
