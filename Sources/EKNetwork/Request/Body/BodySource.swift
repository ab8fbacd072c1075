import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A body that is not held in memory as a whole.
enum BodySource: Sendable {
  /// Replayable any number of times.
  case segments([BodySegment])
  /// A one-shot stream of known length.
  case stream(SizedStream)
  case sequence(SequenceBody)

  /// The exact number of bytes, if known.
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

extension URLRequest {
  /// Whether the body is a stream that was already opened: none of it, or only its end, would be sent.
  var bodyStreamWasOpened: Bool {
    guard let stream = httpBodyStream else { return false }
    guard let body = stream as? BodyInputStream else { return stream.streamStatus != .notOpen }
    guard case .stream(let sized) = body.source else { return false }
    return sized.stream.streamStatus != .notOpen
  }
}

/// A stream and its length in bytes.
///
/// Sendable, unchecked: the stream is passed from the request to its only reader, which opens it.
struct SizedStream: @unchecked Sendable {
  let stream: InputStream
  let length: Int64
}
