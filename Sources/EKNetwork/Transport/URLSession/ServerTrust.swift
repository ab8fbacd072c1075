#if canImport(Darwin)
  import Foundation
  import Security

  /// The evaluation of a server's trust according to ``TLSOptions``, for sessions and for sockets.
  struct ServerTrust: Sendable {
    enum Verdict { case trusted, untrusted, wrongKey }

    let options: TLSOptions

    func verdict(on trust: SecTrust) -> Verdict {
      if let file = options.certificateAuthorityFile {
        let anchors = PEMFile.certificates(in: file)?.compactMap { SecCertificateCreateWithData(nil, $0 as CFData) }
        guard let anchors, !anchors.isEmpty, SecTrustSetAnchorCertificates(trust, anchors as CFArray) == errSecSuccess,
          SecTrustSetAnchorCertificatesOnly(trust, true) == errSecSuccess
        else { return .wrongKey }
      }
      guard SecTrustEvaluateWithError(trust, nil) else { return .untrusted }
      guard !options.pinnedPublicKeys.isEmpty else { return .trusted }
      guard let leaf = (SecTrustCopyCertificateChain(trust) as? [SecCertificate])?.first else { return .wrongKey }
      let certificate = [UInt8](SecCertificateCopyData(leaf) as Data)
      return SubjectPublicKey.isPinned(certificate, by: options.pinnedPublicKeys) ? .trusted : .wrongKey
    }
  }

  /// The delegate of a session that uses ``TLSOptions``.
  final class ServerTrustDelegate: NSObject, URLSessionDelegate {
    private let trust: ServerTrust

    init(_ options: TLSOptions) { trust = ServerTrust(options: options) }

    func urlSession(
      _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
      guard challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodServerTrust else {
        return completionHandler(.performDefaultHandling, nil)
      }
      let chain = challenge.protectionSpace.serverTrust
      switch chain.map(trust.verdict(on:)) ?? .wrongKey {
      case .trusted: completionHandler(.useCredential, chain.map { URLCredential(trust: $0) })
      // The system's default handling comes to the same verdict, and reports what is wrong.
      case .untrusted where trust.options.certificateAuthorityFile == nil:
        completionHandler(.performDefaultHandling, nil)
      case .untrusted, .wrongKey: completionHandler(.cancelAuthenticationChallenge, nil)
      }
    }
  }
#endif
