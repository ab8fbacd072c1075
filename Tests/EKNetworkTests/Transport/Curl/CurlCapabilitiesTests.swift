#if os(Linux)
  import CCurl
  import Foundation
  import Testing

  @testable import EKNetwork

  struct CurlCapabilitiesTests {
    private func capabilities(
      _ version: CurlVersion, missing: Set<CurlOption> = []
    ) -> CurlCapabilities {
      CurlCapabilities(
        version: version, tlsLibrary: "OpenSSL/3.0", features: [.tls], missingOptions: missing,
        authorities: CurlAuthorities(builtIn: nil, isKnown: false, isReadable: { _ in false }))
    }

    @Test func versionsAreParsedAndCompared() {
      #expect(CurlVersion(number: 0x075801) == CurlVersion(7, 88, 1))
      #expect(CurlVersion(7, 9, 9) < CurlVersion(7, 10, 0))
      #expect(CurlVersion(7, 88, 1) < CurlVersion(8, 0, 0))
      #expect("\(CurlVersion(8, 21))" == "8.21.0")
    }

    private static let known: [(CurlVersion, Set<CurlDefect>)] = [
      (CurlVersion(7, 76, 1), [.readsEndlessTunnels]), (CurlVersion(8, 16), [.readsEndlessTunnels]),
      (CurlVersion(7, 88, 1), [.forgetsNextAddress, .readsEndlessTunnels]),
      (CurlVersion(8, 3), [.forgetsNextAddress, .readsEndlessTunnels]), (CurlVersion(8, 4), [.readsEndlessTunnels]),
      (CurlVersion(8, 19), [.readsEndlessTunnels, .trustsRemovedFolder]),
      (CurlVersion(8, 20), [.limitsResolvers, .readsEndlessTunnels, .trustsRemovedFolder]),
    ]

    @Test(arguments: known)
    func eachVersionHasItsOwnDefects(_ version: CurlVersion, _ defects: Set<CurlDefect>) {
      #expect(capabilities(version).defects == defects)
    }

    @Test func availableOptionsOverrideTheVersion() {
      let old = capabilities(CurlVersion(8, 21), missing: [.quickExit])
      #expect(old.joinsResolver && old.defects.contains(.joinsResolver))
      let patched = capabilities(CurlVersion(7, 76))
      #expect(!patched.joinsResolver && !patched.defects.contains(.joinsResolver))
    }

    @Test func optionNamesMatchLibcurl() {
      #expect(CurlOption.pinnedpublickey.name == "CURLOPT_PINNEDPUBLICKEY")
      #expect(CurlOption.sslCtxFunction.name == "CURLOPT_SSL_CTX_FUNCTION")
      #expect(CurlOption.private.name == "CURLOPT_PRIVATE")
      #expect(CurlOption.url.name == "CURLOPT_URL")
    }

    @Test func loadedLibraryIsDescribed() throws {
      let measured = try CurlLibrary.state.get()
      #expect(measured.version >= CurlCapabilities.lowestVersion)
      #expect(measured.features.contains(.tls))
      #expect(measured.missingOptions.contains(.quickExit) == (measured.version < CurlVersion(7, 87)))
      #expect(!measured.missingOptions.contains { $0.isRequired })
      let current = TransportDescription.current
      #expect(current.implementation == .libcurl)
      #expect(current.version == "\(measured.version)")
      #expect(current.reason == nil)
      #expect(current.workarounds.count == measured.defects.count)
      #expect(current.description.hasPrefix("implementation: libcurl \(measured.version)\n"))
      #expect(current.metadata["implementation"] == "libcurl")
    }

    /// Without these, the tests of HTTP/2, of shared authorities and of DNS over HTTPS are skipped: what is expected is what the
    /// machine has, not what was measured.
    @Test func whatTheMachineHasIsFound() throws {
      let measured = try CurlLibrary.state.get()
      let hasNghttp2 = Machine.hasLibrary("libnghttp2.so.14")
      #expect(measured.speaksHTTP2 == hasNghttp2)
      let libcurl = try #require(dlopen("libcurl.so.4", RTLD_NOW))
      defer { dlclose(libcurl) }
      typealias Version = @convention(c) () -> UnsafePointer<CChar>?
      let function = unsafeBitCast(try #require(dlsym(libcurl, "curl_version")), to: Version.self)
      let text = String(cString: try #require(function()))
      // One that is not in use is in parentheses.
      let hasOpenSSL = text.split(separator: " ").contains { $0.hasPrefix("OpenSSL/") }
      #expect((measured.tlsLibrary?.hasPrefix("OpenSSL/") == true) == hasOpenSSL, "\(text)")
      if hasOpenSSL {
        #expect(measured.sharesAuthorities)
        #expect(measured.opensHTTP2 == hasNghttp2)
        #expect(TransportDescription.current.capabilities.contains("http2") == hasNghttp2)
      }
      if !LibcurlDifference.isUntried { #expect(!measured.missingOptions.contains(.dohUrl)) }
    }

    @Test func reasonNamesWhatIsMissing() {
      #expect(CurlLibrary.reason(problem: "libcurl.so.4").contains("install libcurl 7.76.0 or newer"))
      #expect(CurlLibrary.reason(problem: "curl_easy_send").contains("curl_easy_send"))
      #expect(CurlLibrary.reason(version: CurlVersion(7, 68)).hasPrefix("libcurl 7.68.0 is too old: install"))
      let description = TransportDescription(implementation: .urlSession, reason: "why")
      #expect(description.description == "implementation: urlSession\nwhy")
    }
  }

  struct SendProgressTests {
    private func moves(
      _ outputs: [(queued: UInt64, confirmed: UInt64)], unsent: [Int] = [], read: [Int64] = []
    ) -> [Bool] {
      var progress = SendProgress()
      return outputs.enumerated().map { index, output in
        progress.hasMoved(
          ekn_socket_output(queued: output.queued, confirmed: output.confirmed),
          unsent: index < unsent.count ? unsent[index] : 0, read: index < read.count ? read[index] : read.last ?? 100,
          at: UInt64(index) * 10 + 1)
      }
    }

    @Test func shrinkingSendQueueIsProgress() {
      #expect(
        moves([0, 100, 100, 80, 80, 90, 0, 0].map { ($0, 0) })
          == [false, false, false, true, false, false, true, false])
      #expect(moves([(5, 0)]) == [true])
    }

    @Test func acknowledgedBytesAreProgress() {
      // The queue stays as it is: others fill it again.
      #expect(moves([(100, 1), (100, 1), (100, 50), (100, 50)]) == [true, false, true, false])
    }

    /// The bytes of others on the same connection are not this upload's.
    @Test func bytesPastTheEndAreNoProgress() {
      #expect(moves([(100, 1_000), (500, 1_099), (500, 1_100), (500, 1_101)]) == [true, true, true, false])
      // More of the body was read before the third check, which moves the end.
      #expect(
        moves(
          [(100, 1_000), (500, 1_100), (500, 1_101), (500, 1_600), (500, 1_601), (500, 1_602)],
          read: [100, 100, 200])
          == [true, true, true, true, true, false])
    }

    /// What the connection itself holds becomes somewhat more with TLS.
    @Test func bytesThatTheKernelDoesNotHaveYetAreProgress() {
      let end: UInt64 = 1_000 + 100 + 64_000 + 1_000 + 256
      let outputs = [(100, 1_000), (0, end - 1), (0, end), (0, end + 1)] as [(queued: UInt64, confirmed: UInt64)]
      #expect(moves(outputs, unsent: [64_000]) == [true, true, true, false])
      // Those that others have added since.
      #expect(moves([(0, 1_000), (100, 1_001), (100, 1_002)], unsent: [0, 64_000]) == [false, false, false])
    }

    /// The body has arrived, and only others use the connection.
    @Test func otherRequestsAreNoProgress() {
      let outputs = (0..<100).map { (queued: 0 as UInt64, confirmed: 1_000 + 100 * UInt64($0)) }
      #expect(!moves(outputs).contains(true))
    }

    @Test func idleTimeIsCheckedEightTimes() {
      var progress = SendProgress()
      #expect(progress.nextCheck(after: 100, idle: 80) == 110)
      _ = progress.hasMoved(ekn_socket_output(), unsent: 0, read: 0, at: 110)
      #expect(progress.nextCheck(after: 100, idle: 80) == 120)
      #expect(progress.nextCheck(after: 130, idle: 80) == 140)
      #expect(progress.nextCheck(after: 5, idle: .max) == 110 + UInt64.max / 8)
      #expect(progress.nextCheck(after: .max, idle: .max) == .max)
      #expect(progress.nextCheck(after: 5, idle: 0) == 111)
    }
  }
#endif
