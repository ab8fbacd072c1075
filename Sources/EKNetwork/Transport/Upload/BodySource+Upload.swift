import Foundation

extension BodySource {
  /// Returns an upload of the body for the library's own transport.
  func makeUpload() -> any UploadSource {
    switch self {
    case .segments(let segments): ReadAheadUpload(SegmentReader(segments), length: length, isReplayable: true)
    case .stream(let stream):
      ReadAheadUpload(SizedStreamReader(stream), length: stream.length, isReplayable: false)
    case .sequence(let sequence): SequenceUpload(sequence)
    }
  }
}
