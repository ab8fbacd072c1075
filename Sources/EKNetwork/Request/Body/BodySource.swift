import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A body that does not lie in memory as a whole.
enum BodySource: Sendable {
  /// Can be sent as often as it takes.
  case segments([BodySegment])
  /// A one-shot stream whose length its maker knows.
  case stream(SizedStream)
  case sequence(SequenceBody)

  /// The exact number of bytes, where it is known.
  var length: Int64? {
    switch self {
    case .segments(let segments): segments.reduce(0) { $0.addingClamped($1.length) }
    case .stream(let stream): stream.length
    case .sequence(let sequence): sequence.length
    }
  }

  /// Whether it can be sent from its start; a one-shot can until reading begins.
  var isReplayable: Bool {
    switch self {
    case .segments: true
    case .stream(let stream): stream.stream.streamStatus == .notOpen
    case .sequence(let sequence): !sequence.isStarted
    }
  }
}

extension URLRequest {
  /// Whether the body is a stream that somebody has opened before: none of it, or only its end, would be sent.
  var bodyStreamWasOpened: Bool {
    guard let stream = httpBodyStream else { return false }
    guard let body = stream as? BodyInputStream else { return stream.streamStatus != .notOpen }
    guard case .stream(let sized) = body.source else { return false }
    return sized.stream.streamStatus != .notOpen
  }
}

/// A stream and the number of its bytes.
///
/// Sendable, unchecked: the stream is handed from the request to the one reader that opens it.
struct SizedStream: @unchecked Sendable {
  let stream: InputStream
  let length: Int64
}
