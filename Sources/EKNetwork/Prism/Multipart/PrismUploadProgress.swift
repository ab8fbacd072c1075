/// How far an upload has come.
public struct PrismUploadProgress: Sendable, Equatable {
  /// How many bytes of the body were handed to the network.
  public let bytesUploaded: Int64
  /// How many there are.
  public let totalBytes: Int64

  /// A progress as an upload would report it, for tests.
  public init(bytesUploaded: Int64, totalBytes: Int64) {
    self.bytesUploaded = bytesUploaded
    self.totalBytes = totalBytes
  }

  /// From 0 to 1; 0 where there is nothing to upload.
  public var fractionCompleted: Double {
    totalBytes > 0 ? min(max(Double(bytesUploaded) / Double(totalBytes), 0), 1) : 0
  }
}
