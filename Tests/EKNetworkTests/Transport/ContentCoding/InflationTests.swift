#if os(Linux)
  import Foundation
  import LoopbackServer
  import Testing

  @testable import EKNetwork

  /// Bodies that grow by a factor of a thousand with each of their codings. Each test prints the most that was held.
  @Suite(.serialized, .timeLimit(.minutes(10))) struct InflationTests {
    private static let mebibytes = 512
    /// The share of other tests that run meanwhile included.
    private static let allowedPeak = 160 << 20
    private static let bomb = Result { try Bomb.gzip(Bomb.deflate(Bomb.deflate(mebibytes: mebibytes))) }

    private let server: LoopbackServer

    init() throws {
      server = try LoopbackServer()
      let body = try Self.bomb.get()
      server.route("/item") { _ in .data(body).header("Content-Encoding", "deflate, deflate, gzip") }
    }

    private func report(_ name: String, _ peak: Int) throws {
      print("peak memory, \(name): \(peak >> 10) KiB of \(Self.mebibytes << 10), in \(try Self.bomb.get().count) bytes")
      #expect(peak < Self.allowedPeak)
    }

    @Test func aStreamHoldsNoMoreThanItsReaderHasAskedFor() async throws {
      let peak = try await PeakMemory.during {
        var count = 0
        for try await chunk in try await Wire.automatic.manager(server).stream(Probe<EmptyResponse>()).body {
          count += chunk.count
        }
        #expect(count == Self.mebibytes << 20)
      }
      try report("stream", peak)
    }

    @Test func aDownloadHoldsNoMoreThanItHasWritten() async throws {
      let folder = try ScratchFolder()
      let probe = Probe<EmptyResponse>(headers: ["Accept-Encoding": "deflate, gzip"])
      let peak = try await PeakMemory.during {
        let file = try await Wire.automatic.manager(server).download(probe, to: folder["zeros"])
        #expect(file.size == Int64(Self.mebibytes << 20))
      }
      try report("download", peak)
    }

    @Test func aCollectedBodyIsLimitedOverAllItsCodings() async throws {
      let probe = Probe<StatusCodeResponse>(maximumInflation: 1_000)
      let url = server.url("/item")
      let peak = try await PeakMemory.during {
        await #expect(throws: ResponseLimitError(limit: .inflation(1_000), url: url)) {
          try await Wire.automatic.manager(server).send(probe)
        }
      }
      try report("send with a limit", peak)
    }

    @Test func aWindowThatTakesTooMuchMemoryIsRefused() async throws {
      // A frame header (RFC 8878 §3.1.1) with a window of 128 MiB, and a block of one repeated byte.
      let frame = Data([0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x88, 0x03, 0x00, 0x10, 0x61])
      server.route("/item") { _ in .data(frame).header("Content-Encoding", "zstd") }
      let error = await #expect(throws: URLError.self) {
        try await Wire.automatic.manager(server).send(Probe<StatusCodeResponse>())
      }
      #expect(error?.code == .cannotDecodeContentData)
    }

    @Test func theFactorIsThatOfAllLayersTogether() throws {
      let meter = InflationMeter(factor: 10)
      meter.received(1 << 20)
      #expect(meter.allows(10 << 20))
      #expect(!meter.allows(10 << 20 + 1))
      #expect(InflationMeter(factor: nil).allows(.max))
      #expect(InflationMeter(factor: 1).allows(ResponseLimits.inflationAllowance))
      meter.received(1 << 20)
      #expect(meter.allows(20 << 20))
    }
  }
#endif
