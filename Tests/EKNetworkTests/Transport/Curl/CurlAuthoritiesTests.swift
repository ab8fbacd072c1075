#if os(Linux)
  import CCurl
  import Foundation
  import Testing

  @testable import EKNetwork

  struct CurlAuthoritiesTests {
    private static let red = "/etc/pki/tls/certs/ca-bundle.crt"

    private func authorities(
      builtIn: String?, isKnown: Bool = true, files: Set<String>
    ) -> CurlAuthorities {
      CurlAuthorities(builtIn: builtIn, isKnown: isKnown, isReadable: files.contains)
    }

    @Test func builtInAuthoritiesAreKept() {
      let found = authorities(builtIn: "/own/bundle.pem", files: ["/own/bundle.pem", Self.red])
      #expect(found.file == nil)
      #expect(!found.needsFolder)
    }

    /// A libcurl that was built for another distribution, or for none.
    @Test(arguments: ["/etc/ssl/certs/ca-certificates.crt", nil])
    func systemIsSearchedWithoutBuiltInFile(builtIn: String?) {
      let found = authorities(builtIn: builtIn, files: [Self.red, "/etc/ssl/cert.pem"])
      #expect(found.file == Self.red)
      #expect(!found.needsFolder)
    }

    /// Some distributions only have a folder.
    @Test func folderIsUsedWithoutAFile() {
      let found = authorities(builtIn: nil, files: [])
      #expect(found.file == nil)
      #expect(found.usesFolder(with: nil))
      #expect(found.usesFolder(with: TLSOptions(pinnedPublicKeys: ["key"])))
    }

    @Test func ownAuthorityFileReplacesTheFolder() {
      let found = authorities(builtIn: nil, files: [])
      #expect(!found.usesFolder(with: TLSOptions(certificateAuthorityFile: URL(fileURLWithPath: "/own.pem"))))
    }

    /// Before 7.84 libcurl does not report its built-in file.
    @Test func unknownAuthoritiesAreLeftAlone() {
      let found = authorities(builtIn: nil, isKnown: false, files: [Self.red])
      #expect(found.file == nil)
      #expect(!found.needsFolder)
    }

    @Test func onlyFilesHaveAVersion() throws {
      let folder = try ScratchFolder()
      let (own, system) = (try folder.file("own.pem", Data("1".utf8)), try folder.file("system.pem", Data("2".utf8)))
      let found = authorities(builtIn: system.path, files: [system.path])
      let tls = TLSOptions(certificateAuthorityFile: own)
      #expect(found.version(with: nil) == AuthoritiesVersion(files: [system.path]))
      #expect(found.version(with: tls) == AuthoritiesVersion(files: [own.path]))
      #expect(found.version(with: nil) != found.version(with: tls))
      #expect(authorities(builtIn: system.path, files: []).version(with: nil) == nil)
      #expect(found.version(with: TLSOptions(certificateAuthorityFile: URL(fileURLWithPath: "/missing"))) == nil)
      #expect(authorities(builtIn: nil, isKnown: false, files: []).watched == CurlAuthorities.knownFiles)
    }

    @Test func authoritiesOfTheLoadedLibcurl() throws {
      let capabilities = try #require(CurlLibrary.capabilities)
      let easy = try #require(ekn_easy_init())
      defer { ekn_easy_cleanup(easy) }
      let builtIn = ekn_easy_info_pointer(easy, Int32(EKN_INFO_CAINFO))
      #expect((builtIn != nil) == (capabilities.version >= CurlVersion(7, 84)))
      #expect(capabilities.authorities == CurlAuthorities(easy: easy, version: capabilities.version))
    }
  }
#endif
