import Foundation

/// A body that is not held in memory as a whole.
enum BodySource: Sendable {
  /// Replayable any number of times.
  case segments([BodySegment])
  /// A one-shot stream of known length.
  case stream(SizedStream)
  case sequence(SequenceBody)

  var length: Int64? {
    switch self {
    case .segments(let segments): segments.reduce(0) { $0.addingClamped($1.length) }
    case .stream(let stream): stream.length
    case .sequence(let sequence): sequence.length
    }
  }

  /// Whether the body can be sent from its start; a one-shot body can until reading begins.
  var isReplayable: Bool {
    switch self {
    case .segments: true
    case .stream(let stream): stream.stream.streamStatus == .notOpen
    case .sequence(let sequence): !sequence.isUsedUp
    }
  }
}

/// A stream and its length in bytes.
///
/// Sendable, unchecked: the stream is passed from the request to its only reader, which opens it.
struct SizedStream: @unchecked Sendable {
  let stream: InputStream
  let length: Int64
}

/// Pulls the chunks of a body and checks them against its declared length.
///
/// Sendable, unchecked: one caller at a time, each after the previous call has returned.
final class BodyPuller: @unchecked Sendable {
  private let pull: SequenceBody.Puller
  private let declared: Int64?
  private var count: Int64 = 0
  private var isAtEnd = false

  init(_ pull: @escaping SequenceBody.Puller, length: Int64?) {
    self.pull = pull
    declared = length
  }

  /// Returns the next chunk, which is never empty; `nil` at the end.
  ///
  /// The chunk that completes the declared length is withheld until the sequence has ended: a server must not receive a
  /// body that looks complete but is not.
  func next() async throws -> Data? {
    guard let piece = try await nextPiece() else {
      if let declared, count < declared { throw RequestBodyError.lengthMismatch(declared: declared, actual: count) }
      return nil
    }
    guard let declared, count >= declared else { return piece }
    if count == declared, try await nextPiece() == nil { return piece }
    throw RequestBodyError.lengthMismatch(declared: declared, actual: count)
  }

  private func nextPiece() async throws -> Data? {
    while !isAtEnd {
      try Task.checkCancellation()
      guard let piece = try await pull() else {
        // An `AsyncStream` ends when its task is cancelled: what it has returned is not the whole body.
        try Task.checkCancellation()
        break
      }
      count += Int64(piece.count)
      if !piece.isEmpty { return piece }
    }
    isAtEnd = true
    return nil
  }
}

/// A ``BodySource`` as the stream that `URLRequest` requires. The library's own transport extracts the source; other
/// code that receives the request, such as a mock session, reads it like any other stream.
final class BodyInputStream: InputStream {
  let source: BodySource
  private var reader: (any BlockReader)?
  private var status = Status.notOpen
  private var failure: (any Error)?

  init(_ source: BodySource) {
    self.source = source
    super.init(data: Data())
  }

  var unread: BodyInputStream { BodyInputStream(source) }

  override var streamStatus: Status { status }
  override var streamError: (any Error)? { failure }
  override var hasBytesAvailable: Bool { status == .open }

  override func open() {
    guard status == .notOpen else { return }
    do {
      reader =
        switch source {
        case .segments(let segments): SegmentReader(segments)
        case .stream(let sized): InputStreamReader(sized.stream, length: sized.length)
        case .sequence(let sequence): SequenceReader(try sequence.start())
        }
      status = .open
    } catch {
      fail(error)
    }
  }

  override func close() {
    reader?.close()
    reader = nil
    status = .closed
  }

  /// Returns to the first byte: opening the stream again reads the whole body. Only called if the source is replayable,
  /// and while nothing reads the stream.
  func rewind() {
    reader?.close()
    (reader, status, failure) = (nil, .notOpen, nil)
  }

  override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength len: Int) -> Int {
    guard status == .open, let reader else { return status == .error ? -1 : 0 }
    do {
      let count = try reader.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: len))
      if count == 0 { status = .atEnd }
      return count
    } catch {
      fail(error)
      return -1
    }
  }

  override func getBuffer(
    _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, length len: UnsafeMutablePointer<Int>
  ) -> Bool { false }

  private func fail(_ error: any Error) {
    failure = error
    status = .error
  }
}
