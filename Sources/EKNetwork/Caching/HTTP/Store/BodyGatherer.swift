import Foundation

/// Gathers a body that is going to be stored: in memory while it is small, then in a file.
///
/// Not Sendable: belongs to the body that is being read.
final class BodyGatherer {
  /// What is kept in memory of a body that a disk can take.
  static let greatestBuffer: Int64 = 256 * 1024
  private static let greatestReservation: Int64 = 1024 * 1024

  /// A whole body.
  enum Content {
    case data(Data)
    case written(DiskBodyWriter)

    var length: Int64 {
      switch self {
      case .data(let data): Int64(data.count)
      case .written(let writer): writer.length
      }
    }
  }

  private let memoryLimit: Int64
  private let disk: DiskStore?
  private var bufferLimit: Int64
  private var data = Data()
  private var writer: DiskBodyWriter?

  /// - Parameters:
  ///   - memoryLimit: The greatest body that the memory takes.
  ///   - expected: How long the body will be, if that is known.
  init(memoryLimit: Int64, disk: DiskStore?, expected: Int64?) {
    self.memoryLimit = memoryLimit
    self.disk = disk
    bufferLimit = disk == nil ? memoryLimit : Self.greatestBuffer
    // What the server announces need not come.
    data.reserveCapacity(Int(clamping: min(expected ?? 0, bufferLimit, Self.greatestReservation)))
  }

  /// `false` when the body cannot be stored after all.
  func append(_ chunk: Data) -> Bool {
    if writer == nil, Int64(data.count) + Int64(chunk.count) > bufferLimit {
      writer = disk?.bodyWriter()
      if writer == nil {
        // Without a disk there is the memory still.
        bufferLimit = memoryLimit
      } else {
        let buffered = data
        data = Data()
        guard write(buffered) else { return false }
      }
    }
    if writer != nil { return write(chunk) }
    guard Int64(data.count) + Int64(chunk.count) <= bufferLimit else { return false }
    data.append(chunk)
    return true
  }

  /// The whole body.
  func finish() -> Content { writer.map { .written($0) } ?? .data(data) }

  private func write(_ chunk: Data) -> Bool {
    guard let disk, let writer, writer.length + Int64(chunk.count) <= disk.greatestBody else { return false }
    if writer.append(chunk) { return true }
    disk.failedToWrite(errno)
    return false
  }
}
