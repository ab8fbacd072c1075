/// How a download treats the file system.
public struct DownloadOptions: Equatable, Sendable {
  /// What to do with a file that is at the destination already.
  public enum ExistingFile: String, CaseIterable, Sendable {
    /// Put the new file in its place, at once and as a whole, when it is complete.
    case replace
    /// Leave it, and do not load anything.
    case keep
    /// Throw ``DownloadError/fileExists(_:)``, before anything is sent if it is there by then.
    case fail
  }

  /// What to do with a file that is at the destination already. Defaults to `.replace`.
  public var existingFile: ExistingFile
  /// Whether a download that was interrupted, in this process or an earlier one, goes on where it was. Defaults to
  /// `true`.
  public var resumes: Bool
  /// Whether the file is on the disk itself when the download returns, and not only in the system's hands: it then
  /// survives a power failure. Defaults to `false`.
  public var synchronizes: Bool

  /// Options; what is not named has its default.
  public init(existingFile: ExistingFile = .replace, resumes: Bool = true, synchronizes: Bool = false) {
    self.existingFile = existingFile
    self.resumes = resumes
    self.synchronizes = synchronizes
  }
}
