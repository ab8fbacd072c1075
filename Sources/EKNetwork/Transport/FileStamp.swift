#if os(Linux)
  import Foundation

  /// The properties that tell a file from an earlier one at the same path.
  struct FileStamp: Hashable, Sendable {
    private let device: UInt64
    private let inode: UInt64
    private let size: Int64
    private let seconds: Int
    private let nanoseconds: Int

    /// The same text for the same file.
    var text: String { "\(device) \(inode) \(size) \(seconds) \(nanoseconds)" }

    /// Returns `nil` if there is no such file.
    init?(path: String) {
      var status = stat()
      guard stat(path, &status) == 0 else { return nil }
      device = UInt64(status.st_dev)
      inode = UInt64(status.st_ino)
      size = Int64(status.st_size)
      seconds = Int(status.st_mtim.tv_sec)
      nanoseconds = Int(status.st_mtim.tv_nsec)
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
