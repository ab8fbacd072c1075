import Dispatch
import Foundation

/// The next bytes of a body.
struct UploadPiece: Sendable {
  var bytes = Data()
  var isLast = false
  /// The lines of the trailer fields that follow the last piece.
  var trailers: [UInt8] = []
}

/// One pass over a body, from its start.
protocol UploadFeed: AnyObject, Sendable {
  typealias Delivery = @Sendable (Result<UploadPiece, any Error>) -> Void

  /// Reads the next piece and delivers it, on any thread, without blocking the caller. Once the feed is closed, it need not
  /// deliver anything. Only called when the previous piece has been delivered.
  ///
  /// - Throws: The error of a body that cannot be read at all, in place of the first delivery.
  func next(_ deliver: @escaping Delivery) throws
  /// Ends the pass, of which nothing more is wanted.
  func close()
}

/// The blocks of a reader that may block, and is therefore read on a queue of its own.
final class ReaderFeed: UploadFeed, @unchecked Sendable {
  private static let blockSize: Int64 = 256 * 1024

  // Unchecked: the reader and the count are only accessed on `queue`.
  private let reader: any BlockReader
  private let length: Int64?
  private var count: Int64 = 0
  private let queue: DispatchQueue
  private let isClosed = Locked(false)

  /// - Parameter length: The number of bytes. The reader throws an error if the body has another.
  init(
    _ reader: any BlockReader, length: Int64?, queue: DispatchQueue = DispatchQueue(label: "EKNetwork.Upload")
  ) {
    self.reader = reader
    self.length = length
    self.queue = queue
  }

  func next(_ deliver: @escaping Delivery) {
    queue.async {
      // Nothing is taken from a stream that another request may read.
      guard !self.isClosed.withLock({ $0 }) else { return }
      deliver(Result { try self.readBlock() })
    }
  }

  func close() {
    let isFirst = !isClosed.withLock { exchange(&$0, with: true) }
    if isFirst { queue.async { self.reader.close() } }
  }

  private func readBlock() throws -> UploadPiece {
    let rest = length.map { max(1, $0 - count) } ?? Self.blockSize
    var block = BodyBlock()
    let read = block.receive(upTo: Int(min(rest, Self.blockSize))) { space in
      let read = Result { try reader.read(into: space) }
      return ((try? read.get()) ?? 0, read)
    }
    _ = try read.get()
    let bytes = block.takeData() ?? Data()
    count += Int64(bytes.count)
    return UploadPiece(bytes: bytes, isLast: bytes.isEmpty || count == length)
  }
}

/// The elements of an asynchronous sequence, and the trailer fields after them.
final class SequenceFeed: UploadFeed, @unchecked Sendable {
  private let body: SequenceBody
  /// What the request is part of, and so is the sequence, which is pulled from the transport's own thread.
  private let enclosing: EnclosingWork?
  // Unchecked: only one call at a time pulls.
  private var puller: BodyPuller?
  private let pull = Locked<(task: Task<Void, Never>?, isClosed: Bool)>((nil, false))

  init(_ body: SequenceBody, enclosing: EnclosingWork?) {
    self.body = body
    self.enclosing = enclosing
  }

  func next(_ deliver: @escaping Delivery) throws {
    let puller = try puller ?? body.start()
    self.puller = puller
    let task = Task { [body, enclosing] in
      let result: Result<UploadPiece, any Error>
      do {
        let piece = try await EnclosingWork.continuing(enclosing) {
          if let bytes = try await puller.next() { return UploadPiece(bytes: bytes) }
          let trailers = try await body.trailers?() ?? HeaderFieldList()
          return UploadPiece(isLast: true, trailers: try RequestTrailers.lines(of: trailers))
        }
        result = .success(piece)
      } catch { result = .failure(error) }
      deliver(result)
    }
    let isClosed = pull.withLock { pull in
      pull.task = task
      return pull.isClosed
    }
    if isClosed { task.cancel() }
  }

  func close() {
    let task = pull.withLock { pull in
      pull.isClosed = true
      return pull.task.take()
    }
    task?.cancel()
  }
}

/// The trailer fields of a request (RFC 9110 §6.5), which follow its body.
enum RequestTrailers {
  /// What RFC 9110 §6.5.1 forbids: fields that frame or route the message, that say how the request or its content is to be
  /// processed, or that authenticate its sender. A recipient that merges trailers into the head would act on them.
  private static let forbidden: Set<String> = [
    "authorization", "cache-control", "connection", "content-encoding", "content-length", "content-location",
    "content-range", "content-type", "cookie", "expect", "host", "keep-alive", "max-forwards", "pragma",
    "proxy-authorization", "proxy-connection", "range", "te", "trailer", "transfer-encoding", "upgrade",
  ]

  /// Returns the fields as lines, each with its line end.
  ///
  /// - Throws: ``InvalidHeaderError``.
  static func lines(of fields: HeaderFieldList) throws(InvalidHeaderError) -> [UInt8] {
    var checked: [(name: String, value: String)] = []
    for field in fields {
      let value = try InvalidHeaderError.checked(field.value, of: field.name)
      let name = field.name.lowercased()
      guard !forbidden.contains(name), !name.hasPrefix("if-") else {
        throw InvalidHeaderError(field: field.name, reason: .managedByLibrary)
      }
      checked.append((field.name, value))
    }
    return HeaderBlock(checked).bytes
  }
}
