#if os(Linux)
  import Foundation
  import Testing

  @testable import EKNetwork

  struct FileStampTests {
    /// The clock of the file system has ticks of several milliseconds, within which two changes have the same time.
    @Test(.timeLimit(.minutes(2))) func replacementWithSameSizeAndTimeIsAnotherFile() throws {
      let folder = try ScratchFolder()
      let file = try folder.file("a.pem", Data("first".utf8))
      var before = stat()
      #expect(stat(file.path, &before) == 0)
      let stamp = try #require(FileStamp(path: file.path))
      let deadline = ContinuousClock.now + .seconds(60)
      repeat {
        let handle = try FileHandle(forWritingTo: file)
        try handle.write(contentsOf: Data("other".utf8))
        try handle.close()
        #expect(utimensat(AT_FDCWD, file.path, [before.st_atim, before.st_mtim], 0) == 0)
      } while FileStamp(path: file.path) == stamp && ContinuousClock.now < deadline
      var after = stat()
      #expect(stat(file.path, &after) == 0)
      #expect(after.st_ino == before.st_ino && after.st_size == before.st_size)
      #expect(after.st_mtim.tv_sec == before.st_mtim.tv_sec && after.st_mtim.tv_nsec == before.st_mtim.tv_nsec)
      #expect(FileStamp(path: file.path) != stamp)
      #expect(FileStamp(path: file.path)?.text != stamp.text)
    }

    @Test func unchangedFileHasSameStamp() throws {
      let file = try ScratchFolder().file("a.pem", Data("a".utf8))
      #expect(FileStamp(path: file.path) == FileStamp(path: file.path))
      #expect(FileStamp(path: file.path + ".missing") == nil)
    }
  }
#endif
