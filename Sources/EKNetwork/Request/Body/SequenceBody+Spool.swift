import Foundation

extension SequenceBody {
  /// The whole sequence, in a temporary file that has no name and is gone with its last reader.
  func spooled() async throws -> FileSegment {
    let puller = try start()
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("EKNetwork-\(UUID().uuidString)")
    guard let file = OpenFile(url.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC) else {
      throw RequestBodyError.fileNotReadable(url, code: errno)
    }
    unlink(url.path)
    var size: Int64 = 0
    while let piece = try await puller.next() {
      guard file.append(piece) else { throw RequestBodyError.fileNotReadable(url, code: errno) }
      size += Int64(piece.count)
    }
    return FileSegment(unlinked: file, name: url, size: size)
  }
}
