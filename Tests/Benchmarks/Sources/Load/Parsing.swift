import EKNetwork

/// Measures the throughput of the parsers, with input from memory in blocks of 256 KiB as from the network.
enum Parsing: String {
  /// Lines of 1 KiB.
  case longLines = "lines-1k"
  /// Lines of 64 bytes.
  case shortLines = "lines-64"
  case records = "ndjson"
  /// The same records, already split, as the baseline for `records`.
  case splitRecords = "ndjson-split"
  case events
  case bytes
  /// The same with `response.body` instead of the documented streams.
  case bodyLongLines = "body-lines-1k"
  case bodyShortLines = "body-lines-64"
  case bodyRecords = "body-ndjson"
  case bodyEvents = "body-events"
  case bodyBytes = "body-bytes"

  private static let size = 32 << 20

  func measure(seconds: Double) async throws -> Measurement {
    let line: String
    switch self {
    case .longLines, .bodyLongLines: line = String(repeating: "x", count: 1023) + "\n"
    case .shortLines, .bytes, .bodyShortLines, .bodyBytes: line = String(repeating: "x", count: 63) + "\n"
    case .records, .splitRecords, .bodyRecords:
      line = #"{"id":12345,"name":"a teapot of fine porcelain","price":12.5}"# + "\n"
    case .events, .bodyEvents: line = "event: delta\nid: 12345\ndata: " + String(repeating: "x", count: 100) + "\n\n"
    }
    let body = Data(String(repeating: line, count: Self.size / line.utf8.count).utf8)
    let blocks = stride(from: 0, to: body.count, by: 256 * 1024).map {
      Data(body[$0..<min($0 + 256 * 1024, body.count)])
    }
    let lines = self == .splitRecords ? body.split(separator: UInt8(ascii: "\n")).map { Data($0) } : []
    let end = ContinuousClock.now + .seconds(seconds)
    let start = Measurement.Start()
    var units = 0
    repeat {
      let chunks = AsyncThrowingStream<Data, any Error> { continuation in
        for block in blocks { continuation.yield(block) }
        continuation.finish()
      }
      let response = StreamingResponse(statusCode: 200, headers: [:], chunks: chunks)
      var count = 0
      switch self {
      case .longLines, .shortLines: for try await line in response.lines() { count += line.utf8.count & 1 }
      case .records: for try await item in response.ndjson(as: Item.self) { count += item.id & 1 }
      case .splitRecords:
        let decoder = JSONDecoder()
        for line in lines { count += try decoder.decode(Item.self, from: line).id & 1 }
      case .events: for try await event in response.events() { count += event.data.utf8.count & 1 }
      case .bytes: for try await byte in response.bytes { count += Int(byte) & 1 }
      case .bodyLongLines, .bodyShortLines:
        for try await line in response.body.lines() { count += line.utf8.count & 1 }
      case .bodyRecords: for try await item in response.body.ndjson(as: Item.self) { count += item.id & 1 }
      case .bodyEvents: for try await event in response.body.events() { count += event.data.utf8.count & 1 }
      case .bodyBytes: for try await byte in response.body.bytes { count += Int(byte) & 1 }
      }
      withExtendedLifetime(count) {}
      units += body.count
    } while .now < end
    return start.measured(units)
  }
}
