extension HTTPCache {
  /// A failed file operation in the cache's directory, or a damaged file. No request fails because of it: the response
  /// comes from its server, or is not stored.
  public struct StorageFailure: Sendable, Equatable {
    /// A kind of file operation.
    public enum Operation: Sendable, Equatable {
      /// Reading a response.
      case read
      /// Writing a response.
      case write
    }

    /// The operation that failed.
    public let operation: Operation
    /// The path of the file.
    public let path: String
    /// The system's error number; 0 for a file that is damaged.
    public let code: Int32

    /// Creates a failure as the library would report it, for tests.
    public init(operation: Operation, path: String, code: Int32) {
      self.operation = operation
      self.path = path
      self.code = code
    }
  }
}
