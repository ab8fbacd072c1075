#if os(Linux)
  /// A version of libcurl, such as 7.88.1.
  struct CurlVersion: Hashable, Comparable, Sendable, CustomStringConvertible {
    let major: Int
    let minor: Int
    let patch: Int

    init(_ major: Int, _ minor: Int, _ patch: Int = 0) {
      self.major = major
      self.minor = minor
      self.patch = patch
    }

    /// - Parameter number: The version in libcurl's format, 0xXXYYZZ.
    init(number: UInt32) {
      self.init(Int(number >> 16 & 0xff), Int(number >> 8 & 0xff), Int(number & 0xff))
    }

    var description: String { "\(major).\(minor).\(patch)" }

    static func < (lhs: CurlVersion, rhs: CurlVersion) -> Bool {
      (lhs.major, lhs.minor, lhs.patch) < (rhs.major, rhs.minor, rhs.patch)
    }
  }
#endif
