#if os(Linux)
  import Foundation

  extension TLSOptions {
    /// What the options are called by libcurl.
    var curlOptions: [(option: CurlOption, value: String)] {
      var options: [(CurlOption, String?)] = [
        (.cainfo, certificateAuthorityFile?.path),
        (.sslcert, clientCertificate?.certificateFile.path),
        (.sslkey, clientCertificate?.keyFile.path),
        // Without one OpenSSL would ask the terminal, and wait for it on the event loop's thread.
        (.keypasswd, clientCertificate.map { $0.keyPassword ?? "" }),
      ]
      if !pinnedPublicKeys.isEmpty {
        options.append((.pinnedpublickey, pinnedPublicKeys.sorted().map { "sha256//\($0)" }.joined(separator: ";")))
      }
      return options.compactMap { option, value in value.map { (option, $0) } }
    }
  }

  extension SessionProxies {
    /// What the proxies of a request are called by libcurl.
    func curlOptions(isSecure: Bool) -> [(option: CurlOption, value: String)] {
      // An empty string keeps libcurl from looking at the environment.
      let options: [(CurlOption, String)] = [(.proxy, (isSecure ? secure : plain) ?? ""), (.noproxy, exceptions)]
      guard let user else { return options }
      return options + [(.proxyusername, user), (.proxypassword, password ?? "")]
    }
  }

  extension CurlSettings {
    /// Trusts the system's authorities where the options name no file of others.
    mutating func apply(_ tls: TLSOptions?, _ authorities: CurlAuthorities) {
      if !authorities.usesFolder(with: tls) { set(.capath, pointer: nil) }
      set(.proxyCainfo, authorities.file)
      set(.cainfo, authorities.file)
      for (option, value) in tls?.curlOptions ?? [] { set(option, value) }
    }

    mutating func apply(_ proxies: SessionProxies, isSecure: Bool) {
      for (option, value) in proxies.curlOptions(isSecure: isSecure) { set(option, value) }
    }
  }
#endif
