import Foundation

/// Collects a body that is to be stored: in memory while it is small, then in a file.
///
/// Not Sendable: owned by the body that is being read.
final class BodyGatherer {
  /// The largest part of a body that is kept in memory if there is a disk store.
  static let greatestBuffer: Int64 = 256 * 1024
  private static let greatestReservation: Int64 = 1024 * 1024

  /// A complete body.
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
  ///   - memoryLimit: The largest body that the memory store accepts.
  ///   - expected: The expected length of the body, if known.
  init(memoryLimit: Int64, disk: DiskStore?, expected: Int64?) {
    self.memoryLimit = memoryLimit
    self.disk = disk
    bufferLimit = disk == nil ? memoryLimit : Self.greatestBuffer
    // The server may announce more than it sends.
    data.reserveCapacity(Int(clamping: min(expected ?? 0, bufferLimit, Self.greatestReservation)))
  }

  /// Appends a chunk; returns `false` if the body cannot be stored.
  func append(_ chunk: Data) -> Bool {
    if writer == nil, Int64(data.count) + Int64(chunk.count) > bufferLimit {
      writer = disk?.bodyWriter()
      if writer == nil {
        // Without a file the body can still be kept in memory.
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

  /// Returns the complete body.
  func finish() -> Content { writer.map { .written($0) } ?? .data(data) }

  private func write(_ chunk: Data) -> Bool {
    guard let disk, let writer, writer.length + Int64(chunk.count) <= disk.greatestBody else { return false }
    if writer.append(chunk) { return true }
    disk.failedToWrite(errno)
    return false
  }
}
