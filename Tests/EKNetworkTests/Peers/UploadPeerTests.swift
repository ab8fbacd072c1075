#if os(Linux)
  import Foundation
  import FoundationNetworking
  import Testing

  @testable import EKNetwork

  /// Uploads to a third-party server of tus.
  @Suite(
    "Upload peers", .serialized, .timeLimit(.minutes(10)), .enabled(if: PeerProcess.has("tuspyserver", "uvicorn")))
  struct UploadPeerTests {
    private let peer: PeerProcess
    private let folder: ScratchFolder
    private let content = Data.noise(5_000_000)
    private let file: URL

    init() throws {
      peer = try PeerProcess.shared("uploads.py")
      folder = try ScratchFolder()
      file = try folder.file("a.bin", content)
    }

    private func options(chunk: Int64? = nil) -> UploadOptions {
      UploadOptions(
        using: .tus, state: folder["state"], chunkSize: chunk,
        metadata: ["filename": "a.bin", "filetype": "application/octet-stream"])
    }

    private func request(_ prefix: String = "files", retries: Int = 0) -> CreateUpload {
      CreateUpload(path: "/\(prefix)/", retryPolicy: .immediate(retries))
    }

    /// Not over Foundation's implementation, which sends parts without the length that this server requires.
    private func manager(_ name: String) throws -> NetworkManager {
      let configuration = URLSessionConfiguration.ephemeral
      configuration.timeoutIntervalForRequest = 600
      return NetworkManager(
        baseURL: try peer.url(name, scheme: "http"), session: URLSession(configuration: configuration),
        transport: .secured(by: TLSOptions(certificateAuthorityFile: peer.authority)))
    }

    @Test("A file is stored unchanged", arguments: [nil, 1_000_000])
    func stored(chunk: Int64?) async throws {
      let result = try await manager("tus").upload(request(), fromFile: file, options: options(chunk: chunk))
      #expect(try Data(contentsOf: peer.file(result.url.lastPathComponent)) == content)
      #expect(folder.names == ["a.bin"])
    }

    @Test("A file arrives over connections that break every 700 KB")
    func interrupted() async throws {
      let result = try await manager("cutting").upload(request(retries: 2), fromFile: file, options: options())
      #expect(try Data(contentsOf: peer.file(result.url.lastPathComponent)) == content)
    }

    @Test("Each run of a program continues where the last one ended")
    func laterRuns() async throws {
      var failures = 0
      while failures < 20 {
        do {
          let result = try await manager("cutting").upload(request(), fromFile: file, options: options())
          #expect(result.resumedBytes > 0)
          #expect(try Data(contentsOf: peer.file(result.url.lastPathComponent)) == content)
          break
        } catch is URLError {
          failures += 1
          #expect(folder.names == ["a.bin", "state"])
        }
      }
      #expect((5..<20).contains(failures))
    }

    @Test("The token is sent with every request")
    func secured() async throws {
      let result = try await manager("tus").upload(
        request("secured"), fromFile: file, accessToken: { "token" }, options: options())
      #expect(try Data(contentsOf: peer.file(result.url.lastPathComponent)) == content)
    }

    @Test("A cancelled upload is deleted")
    func cancelled() async throws {
      func stored() throws -> Set<String> {
        Set(try FileManager.default.contentsOfDirectory(atPath: peer.file("").path)).subtracting([".locks"])
      }
      let before = try stored()
      await #expect(throws: URLError.self) {
        try await manager("cutting").upload(request(), fromFile: file, options: options())
      }
      #expect(try stored() != before)
      #expect(try await manager("cutting").cancelUpload(request(), options: options()))
      #expect(try stored() == before)
    }
  }
#endif
