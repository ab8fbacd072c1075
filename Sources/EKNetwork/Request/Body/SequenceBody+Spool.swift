import Foundation

extension SequenceBody {
  /// Writes the whole sequence to an unlinked temporary file, which is deleted with its last reader.
  ///
  /// - Parameter queue: The queue on which the file is written.
  func spooled(on queue: BlockingQueue = BlockingQueue(label: "EKNetwork.Spool")) async throws -> FileSegment {
    let puller = try start()
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("EKNetwork-\(UUID().uuidString)")
    let file = try await queue.run { () throws(RequestBodyError) in
      guard let file = OpenFile(url.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC) else {
        throw .fileNotReadable(url, code: errno)
      }
      unlink(url.path)
      return file
    }
    var size: Int64 = 0
    while let piece = try await puller.next() {
      try await queue.run { () throws(RequestBodyError) in
        guard file.append(piece) else { throw .fileNotReadable(url, code: errno) }
      }
      size += Int64(piece.count)
    }
    return FileSegment(unlinked: file, name: url, size: size)
  }
}
