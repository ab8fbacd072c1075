#if os(Linux)
  import Foundation
  import FoundationNetworking
  import LoopbackServer
  import Testing

  @testable import EKNetwork

  /// Bodies that grow by a factor of a thousand with each of their codings. Each is read in a separate process, so that
  /// no other test uses its memory, and the peak is printed.
  @Suite(.serialized, .timeLimit(.minutes(10))) struct InflationTests {
    /// More than twice what is allowed at once.
    private static let mebibytes = 128
    private static let allowedPeak = 48 << 20

    private static func bombServer() throws -> LoopbackServer {
      let server = try LoopbackServer()
      let body = try Bomb.gzip(Bomb.deflate(Bomb.deflate(mebibytes: mebibytes)))
      server.route("/item") { _ in .data(body).header("Content-Encoding", "deflate, deflate, gzip") }
      return server
    }

    private static func check(_ peak: Int) {
      print("\(peak >> 10) KiB of \(mebibytes << 10)")
      #expect(peak < allowedPeak)
    }

    @Test func streamKeepsPeakMemoryLow() async throws {
      let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
        let server = try Self.bombServer()
        Self.check(
          try await PeakMemory.during {
            var count = 0
            for try await chunk in try await Wire.automatic.manager(server).stream(Probe<EmptyResponse>()).body {
              count += chunk.count
            }
            #expect(count == Self.mebibytes << 20)
          })
      }
      PeakMemory.report("stream", result?.standardOutputContent)
    }

    @Test func downloadKeepsPeakMemoryLow() async throws {
      let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
        let server = try Self.bombServer()
        let folder = try ScratchFolder()
        let probe = Probe<EmptyResponse>(headers: ["Accept-Encoding": "deflate, gzip"])
        Self.check(
          try await PeakMemory.during {
            let file = try await Wire.automatic.manager(server).download(probe, to: folder["zeros"])
            #expect(file.size == Int64(Self.mebibytes << 20))
          })
        // The process exits without running any deinitializer.
        try FileManager.default.removeItem(at: folder.url)
      }
      PeakMemory.report("download", result?.standardOutputContent)
    }

    @Test func inflationLimitCoversAllCodings() async throws {
      let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
        let server = try Self.bombServer()
        let url = server.url("/item")
        Self.check(
          try await PeakMemory.during {
            await #expect(throws: ResponseLimitError(limit: .inflation(1_000), url: url)) {
              try await Wire.automatic.manager(server).send(Probe<StatusCodeResponse>(maximumInflation: 1_000))
            }
          })
      }
      PeakMemory.report("send with a limit", result?.standardOutputContent)
    }

    @Test func oversizedZstdWindowIsRefused() async throws {
      // A frame header (RFC 8878 §3.1.1) with a window of 128 MiB, and a block of one repeated byte.
      let frame = Data([0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x88, 0x03, 0x00, 0x10, 0x61])
      let server = try LoopbackServer()
      server.route("/item") { _ in .data(frame).header("Content-Encoding", "zstd") }
      let error = await #expect(throws: URLError.self) {
        try await Wire.automatic.manager(server).send(Probe<Data>())
      }
      #expect(error?.code == .cannotDecodeContentData)
    }

    /// A frame (RFC 8878 §3.1.1) with a window of 128 KiB, and of blocks of that size with one repeated byte: a gibibyte.
    private static var gibibyte: Data {
      var frame = Data([0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x38])
      for _ in 1..<8_192 { frame += [0x02, 0x00, 0x10, 0x61] }
      return frame + [0x03, 0x00, 0x10, 0x61]
    }

    /// All of it has arrived before most of it is decoded.
    @Test func decodingEndsWithTheTotalTimeout() async throws {
      let frame = Self.gibibyte
      let server = try LoopbackServer()
      server.route("/item") { _ in .data(frame).header("Content-Encoding", "zstd") }
      let error = await #expect(throws: URLError.self) {
        try await Wire.automatic.manager(server).send(Probe<Data>(totalTimeout: .milliseconds(50)))
      }
      #expect(error?.code == .timedOut)
    }

    @Test func decodingEndsWhenItsTaskIsCancelled() async throws {
      let frame = Self.gibibyte
      let server = try LoopbackServer()
      server.route("/item") { _ in .data(frame).header("Content-Encoding", "zstd") }
      let transport = try #require(HTTPTransport(configuration: .ephemeral))
      let request = TransportRequest(URLRequest(url: server.url("/item"), timeoutInterval: 600))
      let reading = Task {
        let body = try await transport.start(request).body
        #expect(try await body.next()?.first == 0x61)
        withUnsafeCurrentTask { $0?.cancel() }
        _ = try await body.next()
      }
      await #expect(throws: CancellationError.self) { try await reading.value }
    }

    @Test func inflationFactorCoversAllLayers() throws {
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
