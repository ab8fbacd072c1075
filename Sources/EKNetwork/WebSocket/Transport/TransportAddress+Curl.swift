#if os(Linux)
  import CCurl
  import Foundation
  import FoundationNetworking

  extension TransportAddress {
    /// Sets what the address says of TLS and proxies; the error of the first option that is not taken.
    ///
    /// - Parameter set: Sets an option of libcurl's to a string. `false` when libcurl does not take it.
    func refusedOption(set: (_ option: Int, _ value: String) -> Bool) -> URLError? {
      for (option, value) in securityOptions where !set(option, value) {
        return refusal(.secureConnectionFailed, "This machine's libcurl cannot do what the TLS options ask for")
      }
      for (option, value) in proxyOptions where !set(option, value) {
        return refusal(.cannotConnectToHost, "This machine's libcurl cannot use the session's proxies")
      }
      return nil
    }

    private var securityOptions: [(Int, String)] {
      guard isSecure else { return [] }
      var options: [(Int, String?)] = [
        (EKN_OPT_CAINFO, tls?.certificateAuthorityFile?.path ?? authorityFile),
        (EKN_OPT_SSLCERT, tls?.clientCertificate?.certificateFile.path),
        (EKN_OPT_SSLKEY, tls?.clientCertificate?.keyFile.path),
        (EKN_OPT_KEYPASSWD, tls?.clientCertificate?.keyPassword),
      ]
      if let pins = tls?.pinnedPublicKeys, !pins.isEmpty {
        options.append((EKN_OPT_PINNEDPUBLICKEY, pins.sorted().map { "sha256//\($0)" }.joined(separator: ";")))
      }
      return options.compactMap { option, value in value.map { (option, $0) } }
    }

    private var proxyOptions: [(Int, String)] {
      guard let proxies else { return [] }
      // An empty string keeps libcurl from looking at the environment.
      var options = [
        (EKN_OPT_PROXY, (isSecure ? proxies.secure : proxies.plain) ?? ""), (EKN_OPT_NOPROXY, proxies.exceptions),
      ]
      if let user = proxies.user {
        options += [(EKN_OPT_PROXYUSERNAME, user), (EKN_OPT_PROXYPASSWORD, proxies.password ?? "")]
      }
      return options
    }

    private func refusal(_ code: URLError.Code, _ text: String) -> URLError {
      var parts = URLComponents()
      (parts.scheme, parts.host, parts.port) = (isSecure ? "https" : "http", host, port)
      return URLError(
        code, userInfo: [NSLocalizedDescriptionKey: text, NSURLErrorFailingURLErrorKey: parts.url as Any])
    }
  }
#endif
