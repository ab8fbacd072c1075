#if os(Linux)
  import Foundation

  /// The properties that tell a file from an earlier one at the same path.
  struct FileStamp: Hashable, Sendable {
    private let device: UInt64
    private let inode: UInt64
    private let size: Int64
    private let modified: Time
    /// When the file was last changed in any way. A program can set the time of the modification, but not this one.
    private let changed: Time

    private struct Time: Hashable, Sendable {
      let seconds: Int
      let nanoseconds: Int

      init(_ time: timespec) {
        seconds = Int(time.tv_sec)
        nanoseconds = Int(time.tv_nsec)
      }

      var text: String { "\(seconds) \(nanoseconds)" }
    }

    /// The same text for the same file.
    var text: String { "\(device) \(inode) \(size) \(modified.text) \(changed.text)" }

    /// Returns `nil` if there is no such file.
    init?(path: String) {
      var status = stat()
      guard stat(path, &status) == 0 else { return nil }
      device = UInt64(status.st_dev)
      inode = UInt64(status.st_ino)
      size = Int64(status.st_size)
      modified = Time(status.st_mtim)
      changed = Time(status.st_ctim)
    }
  }

  extension TLSOptions {
    /// The files with the trusted authorities and the client's identity.
    var files: [URL] {
      [certificateAuthorityFile, clientCertificate?.certificateFile, clientCertificate?.keyFile].compactMap { $0 }
    }
  }

  extension TLSOptions.ClientCertificate {
    /// An identifier of the certificate at this moment: another after a file has been replaced, as when a certificate is
    /// renewed or belongs to another user.
    var currentIdentity: String {
      [certificateFile, keyFile]
        .map { "\($0.absoluteString) \(FileStamp(path: $0.path)?.text ?? "")" }
        .joined(separator: " ")
    }
  }
#endif
