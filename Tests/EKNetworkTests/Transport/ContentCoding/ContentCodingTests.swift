#if os(Linux)
  import LoopbackServer
  import Testing

  @testable import EKNetwork

  struct ContentCodingTests {
    /// 1,800 bytes of text, encoded by the tools of each format.
    private static let text = Data(String(repeating: "the quick brown fox jumps over the lazy dog. ", count: 40).utf8)
    private static let gzip =
      "H4sIAAAAAAACAyvJSFUoLM1MzlZIKsovz1NIy69QyCrNLShWyC9LLVIoAUrnJFZVKqTkp+uBeaOKRxWPKh5VPKp4VPEwUgwApLt2/QgHAAA="
    private static let deflate =
      "eNoryUhVKCzNTM5WSCrKL89TSMuvUMgqzS0oVsgvSy1SKAFK5yRWVSqk5KfrgXmjikcVjyoeVTyqeFTxMFIMAI2Yizc="
    private static let raw = "K8lIVSgszUzOVkgqyi/PU0jLr1DIKs0tKFbIL0stUigBSuckVlUqpOSn64F5o4pHFY8qHlU8qnhU8TBSDAA="
    private static let zstd =
      "KLUv/QRotQEA1AJ0aGUgcXVpY2sgYnJvd24gZm94IGp1bXBzIG92ZXIgdGhlIGxhenkgZG9nLiABAMUW/qoMNId9fw=="
    private static let brotli = "HwcHiIyUbuYi0IOlupBeExSNgHxDC4MNOHBIIG8kv0GnFc5mx+NEhaVgI5xKqz9MCgw="

    private static let samples: [(coding: String, body: String)] = [
      ("gzip", gzip), ("x-gzip", gzip), ("GZIP", gzip), ("deflate", deflate), ("deflate", raw), ("zstd", zstd),
      ("br", brotli), ("identity", text.base64EncodedString()),
      ("none", text.base64EncodedString()), ("None, gzip", gzip), ("gzip,,identity", gzip),
    ]

    private func fetch(_ body: Data, coding: String, pieces: Int = 1) async throws -> Data {
      let server = try LoopbackServer()
      defer { server.stop() }
      server.route("/") { _ in
        let size = max(1, (body.count + pieces - 1) / pieces)
        let chunks = stride(from: 0, to: body.count, by: size).map { body[$0..<min($0 + size, body.count)] }
        return .chunked(chunks.map { Data($0) }).header("Content-Encoding", coding)
      }
      let transport = try #require(HTTPTransport(configuration: .ephemeral))
      return try await transport.fetch(TransportRequest(URLRequest(url: server.url("/")))).data
    }

    @Test(arguments: samples)
    func aWholeBodyIsDecoded(_ sample: (coding: String, body: String)) async throws {
      let body = try #require(Data(base64Encoded: sample.body))
      #expect(try await fetch(body, coding: sample.coding) == Self.text)
    }

    @Test(arguments: samples)
    func aBodyInPiecesIsDecoded(_ sample: (coding: String, body: String)) async throws {
      let body = try #require(Data(base64Encoded: sample.body))
      #expect(try await fetch(body, coding: sample.coding, pieces: body.count) == Self.text)
    }

    @Test(
      arguments: samples.filter { $0.coding.lowercased().contains("g") || $0.coding == "br" || $0.coding == "deflate" })
    func aTruncatedBodyIsAnError(_ sample: (coding: String, body: String)) async throws {
      let body = try #require(Data(base64Encoded: sample.body))
      for length in [1, body.count / 2, body.count - 1] {
        let error = await #expect(throws: URLError.self) { try await fetch(body.prefix(length), coding: sample.coding) }
        #expect(error?.code == .cannotDecodeContentData)
      }
    }

    @Test(arguments: ["gzip", "deflate", "br", "zstd"])
    func garbageIsAnError(_ coding: String) async throws {
      let garbage = Data((0..<2_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ 7) })
      let error = await #expect(throws: URLError.self) { try await fetch(garbage, coding: coding) }
      #expect(error?.code == .cannotDecodeContentData)
    }

    @Test func trailingDataIsAnError() async throws {
      for (coding, sample) in [("gzip", Self.gzip), ("deflate", Self.deflate), ("br", Self.brotli)] {
        let body = try #require(Data(base64Encoded: sample))
        let error = await #expect(throws: URLError.self) { try await fetch(body + Data("junk".utf8), coding: coding) }
        #expect(error?.code == .cannotDecodeContentData, "\(coding)")
      }
    }

    @Test func concatenatedMembersAreOneBody() async throws {
      for (coding, sample) in [("gzip", Self.gzip), ("zstd", Self.zstd)] {
        let body = try #require(Data(base64Encoded: sample))
        for pieces in [1, 2, 2 * body.count] {
          #expect(try await fetch(body + body, coding: coding, pieces: pieces) == Self.text + Self.text, "\(coding)")
        }
      }
    }

    @Test func codingsAreDecodedInReverseOrder() async throws {
      let body = try #require(Data(base64Encoded: Self.gzip))
      let stored = try #require(storedGzip(body))
      #expect(try await fetch(stored, coding: "gzip, gzip") == Self.text)
    }

    @Test(arguments: ["snappy", "gzip, what", "gzip, gzip, gzip, gzip, gzip, gzip"])
    func unsupportedCodingIsAnError(_ coding: String) async throws {
      let error = await #expect(throws: URLError.self) { try await fetch(Self.text, coding: coding) }
      #expect(error?.code == .cannotDecodeContentData)
    }

    /// The content is complete, whatever it says: only a type that uses it needs it decoded.
    @Test(arguments: ["snappy", "gzip"]) func contentThatIsIgnoredIsNotDecoded(_ coding: String) async throws {
      let server = try LoopbackServer()
      defer { server.stop() }
      server.route("/item") { _ in .data(Data("text".utf8)).header("Content-Encoding", coding) }
      let manager = Wire.automatic.manager(server)
      _ = try await manager.send(Probe<EmptyResponse>())
      #expect(try await manager.send(Probe<StatusCodeResponse>()).statusCode == 200)
      for _ in 0..<2 {
        let error = await #expect(throws: URLError.self) { try await manager.send(OwnDecoding()) }
        #expect(error?.code == .cannotDecodeContentData)
      }
      await #expect(throws: URLError.self) { try await manager.send(Probe<Data>()) }
      // The status needs no content; reading it fails.
      let stream = try await manager.stream(Probe<Data>())
      #expect(stream.statusCode == 200)
      await #expect(throws: URLError.self) { for try await _ in stream.chunks {} }
    }

    /// A request whose response is checked, although its type contains nothing of it.
    private struct OwnDecoding: NetworkRequest {
      let path = "/item"
      let method = HTTPMethod.get

      func decodeResponse(data: Data, response: URLResponse) throws -> EmptyResponse {
        #expect(data == Data("text".utf8) || data.isEmpty)
        return EmptyResponse()
      }
    }

    @Test(arguments: ["gzip", "deflate", "br", "zstd", "snappy", "none", "gzip, gzip, gzip, gzip, gzip, gzip"])
    func emptyEncodedBodyIsEmpty(_ coding: String) async throws {
      #expect(try await fetch(Data(), coding: coding).isEmpty)
    }

    /// RFC 9110 §14.1.2: a range counts the bytes of the encoded content, and a part of that cannot be decoded.
    @Test func partIsRequestedWithoutCodings() async throws {
      let encoded = try #require(Data(base64Encoded: Self.gzip))
      let server = try LoopbackServer()
      defer { server.stop() }
      server.route("/item") { request in
        let isEncoded = request.headers["Accept-Encoding"]?.contains("gzip") == true
        let content = isEncoded ? encoded : Self.text
        let part = LoopbackServer.Response.data(Data(content[10..<20]), status: 206)
          .header("Content-Range", "bytes 10-19/\(content.count)")
        return isEncoded ? part.header("Content-Encoding", "gzip") : part
      }
      let manager = Wire.automatic.manager(server)
      let response = try await manager.response(to: Probe<Data>(headers: ["Range": "bytes=10-19"]))
      #expect(response.statusCode == 206 && response.data == Data(Self.text[10..<20]))
    }

    /// A gzip member with one stored block (RFC 1951 §3.2.4), so that the test needs no compressor.
    private func storedGzip(_ data: Data) -> Data? {
      guard data.count < 65_536 else { return nil }
      var crc: UInt32 = 0xffff_ffff
      for byte in data {
        crc ^= UInt32(byte)
        for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xedb8_8320 : crc >> 1 }
      }
      let length = UInt16(data.count)
      var member = Data([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1])
      for value in [length, ~length] { withUnsafeBytes(of: value.littleEndian) { member.append(contentsOf: $0) } }
      member.append(data)
      for value in [~crc, UInt32(data.count)] {
        withUnsafeBytes(of: value.littleEndian) { member.append(contentsOf: $0) }
      }
      return member
    }
  }
#endif
