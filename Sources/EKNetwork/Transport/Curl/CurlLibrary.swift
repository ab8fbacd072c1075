#if os(Linux)
  import CCurl

  /// The libcurl of the process.
  enum CurlLibrary {
    /// Its capabilities, or why it is not used.
    static let state: Result<CurlCapabilities, Unusable> = load()

    struct Unusable: Error, Sendable {
      /// One sentence that says how to fix it.
      let reason: String
    }

    static var capabilities: CurlCapabilities? { try? state.get() }

    static var versionText: String { capabilities.map { "\($0.version)" } ?? "" }

    private static func load() -> Result<CurlCapabilities, Unusable> {
      if let problem = ekn_curl_problem() {
        return .failure(Unusable(reason: reason(problem: String(cString: problem))))
      }
      guard let capabilities = CurlCapabilities.measured() else {
        return .failure(Unusable(reason: reason(problem: "curl_easy_init")))
      }
      if capabilities.version < CurlCapabilities.lowestVersion {
        return .failure(Unusable(reason: reason(version: capabilities.version)))
      }
      return .success(capabilities)
    }

    /// - Parameter problem: The name of a file, or of one of libcurl's functions.
    static func reason(problem: String) -> String {
      problem.hasPrefix("libcurl")
        ? "\(problem) cannot be opened: install libcurl \(CurlCapabilities.lowestVersion) or newer (\(packages))"
        : "libcurl's \(problem) is missing or fails: install libcurl \(CurlCapabilities.lowestVersion) or newer (\(packages))"
    }

    static func reason(version: CurlVersion) -> String {
      "libcurl \(version) is too old: install libcurl \(CurlCapabilities.lowestVersion) or newer (\(packages))"
    }

    private static let packages = "the package libcurl4 on Debian and Ubuntu, libcurl on Fedora and Red Hat"
  }
#endif
