import Foundation

extension BodySource {
  /// The body as the library's own transport sends it.
  func makeUpload() -> any UploadSource {
    switch self {
    case .segments(let segments): ReadAheadUpload(SegmentReader(segments), length: length, isReplayable: true)
    case .stream(let stream):
      ReadAheadUpload(InputStreamReader(stream.stream), length: stream.length, isReplayable: false)
    case .sequence(let sequence): SequenceUpload(sequence)
    }
  }
}
