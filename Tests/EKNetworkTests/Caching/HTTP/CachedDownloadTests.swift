import LoopbackServer
import Testing

@testable import EKNetwork

@Suite struct CachedDownloadTests {
  @Test func downloadFillsAndUsesCache() async throws {
    let bench = try CacheBench()
    let folder = try ScratchFolder()
    let body = Data.noise(200_000)
    bench.server.route("/a") { _ in .data(body, headers: ["Cache-Control": "max-age=60", "ETag": "\"v\""]) }
    for name in ["1", "2"] {
      let file = try await bench.manager.download(CacheProbe(), to: folder[name])
      #expect(try Data(contentsOf: file.url) == body)
    }
    #expect(bench.server.requestCount == 1 && bench.cache.statistics.hits == 1)
  }

  @Test func cacheHitCompletesProgress() async throws {
    let bench = try CacheBench()
    bench.server.route("/a") { _ in .text("0123456789", headers: ["Cache-Control": "max-age=60"]) }
    _ = try await bench.send()
    let progress = NetworkProgress()
    _ = try await bench.send(CacheProbe(progress: progress))
    #expect(progress.fractionCompleted == 1)
  }
}
