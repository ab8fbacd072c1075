extension HTTPCache {
  /// Something that the cache's directory did not let it do, or a file that is not what was written. No request fails of
  /// it: the response comes from its server, or is not stored.
  public struct StorageFailure: Sendable, Equatable {
    /// What was tried.
    public enum Operation: Sendable, Equatable {
      /// Reading a response.
      case read
      /// Writing one.
      case write
    }

    /// What was tried.
    public let operation: Operation
    /// The file.
    public let path: String
    /// The system's error number; 0 for a file that is damaged.
    public let code: Int32

    /// A failure as the library would report it, for tests.
    public init(operation: Operation, path: String, code: Int32) {
      self.operation = operation
      self.path = path
      self.code = code
    }
  }
}
