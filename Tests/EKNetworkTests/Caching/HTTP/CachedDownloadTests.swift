import LoopbackServer
import Testing

@testable import EKNetwork

struct CachedDownloadTests {
  @Test func downloadFillsAndUsesCache() async throws {
    let bench = try CacheBench()
    let folder = try ScratchFolder()
    let body = Data.noise(200_000)
    bench.server.route("/a") { _ in .data(body, headers: ["Cache-Control": "max-age=60", "ETag": "\"v\""]) }
    let statuses = Locked<[String]>([])
    bench.manager.eventHandler = { event in
      if case .finished = event.kind { statuses.withLock { $0.append(event.cacheStatus ?? "") } }
    }
    for name in ["1", "2"] {
      let file = try await bench.manager.download(CacheProbe(), to: folder[name])
      #expect(try Data(contentsOf: file.url) == body)
    }
    #expect(bench.server.requestCount == 1 && bench.cache.statistics.hits == 1)
    let reported = statuses.withLock { $0 }
    #expect(reported.first == "EKNetwork; fwd=uri-miss; fwd-status=200; stored")
    #expect(reported.count == 2 && reported[1].hasPrefix("EKNetwork; hit; ttl="))
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
