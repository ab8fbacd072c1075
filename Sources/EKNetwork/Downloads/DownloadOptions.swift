/// Options that control how a download uses the file system.
public struct DownloadOptions: Equatable, Sendable {
  /// The behaviour if a file already exists at the destination.
  public enum ExistingFile: String, CaseIterable, Sendable {
    /// Replace it atomically with the new file, once that is complete.
    case replace
    /// Keep it, and download nothing.
    case keep
    /// Throw ``DownloadError/fileExists(_:)``; before anything is sent if the file exists by then.
    case fail
  }

  /// The behaviour if a file already exists at the destination. Defaults to `.replace`.
  public var existingFile: ExistingFile
  /// Whether a download that was interrupted, in this process or an earlier one, is resumed. Defaults to `true`.
  ///
  /// A modification date only identifies what the same user received: behind attempt middleware, a session's delegate or a
  /// custom session, whose credentials the library does not know, an earlier process's download is resumed only by an
  /// entity tag.
  public var resumes: Bool
  /// Whether the file is flushed to the disk before the download returns, so that it survives a power failure. Defaults
  /// to `false`.
  public var synchronizes: Bool

  /// Creates options; parameters that are left out have their defaults.
  public init(existingFile: ExistingFile = .replace, resumes: Bool = true, synchronizes: Bool = false) {
    self.existingFile = existingFile
    self.resumes = resumes
    self.synchronizes = synchronizes
  }
}
