/// The progress of an upload.
public struct PrismUploadProgress: Sendable, Equatable {
  /// The number of bytes of the body that were passed to the network.
  public let bytesUploaded: Int64
  /// The total number of bytes of the body.
  public let totalBytes: Int64

  /// Creates a progress as an upload would report it, for tests.
  public init(bytesUploaded: Int64, totalBytes: Int64) {
    self.bytesUploaded = bytesUploaded
    self.totalBytes = totalBytes
  }

  /// The fraction from 0 to 1; 0 if the body is empty.
  public var fractionCompleted: Double {
    totalBytes > 0 ? min(max(Double(bytesUploaded) / Double(totalBytes), 0), 1) : 0
  }
}
