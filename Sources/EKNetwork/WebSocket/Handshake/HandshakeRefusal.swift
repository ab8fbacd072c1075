import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A response that refuses the handshake, with the beginning of its body (RFC 9112 §6.3).
struct HandshakeRefusal: Sendable {
  private enum Framing: Sendable {
    case length(Int64)
    case chunked(ChunkedDecoder)
    case untilEnd
  }

  /// The number of bytes that are read of the body.
  static let limit = 1024
  /// How long to wait for them: they explain the status, which must not be delayed much.
  static let patience = Duration.milliseconds(500)

  private let head: ResponseHead
  private var framing: Framing
  private var data = Data()
  private(set) var isComplete = false

  /// Returns `nil` for a response that does not refuse the handshake.
  init?(_ response: HandshakeResponse, url: URL?) {
    guard let refusal = response.refusal, let url, let raw = RawHead(bytes: refusal.head, url: url.withoutCredentials)
    else { return nil }
    head = ResponseHead(raw)
    framing =
      if head.value("transfer-encoding").map({ HTTPField.list($0, contains: "chunked") }) == true {
        .chunked(ChunkedDecoder())
      } else if let length = head.contentLength {
        .length(length)
      } else {
        .untilEnd
      }
    isComplete = !head.hasBody(method: "GET")
    receive(refusal.body)
  }

  /// The response, with what has arrived of its body, as it was sent.
  var response: NetworkResponse { NetworkResponse(CollectedResponse(head: head, data: data)) }

  /// Adds received bytes.
  mutating func receive(_ bytes: [UInt8]) {
    guard !isComplete else { return }
    switch framing {
    case .untilEnd: data.append(contentsOf: bytes)
    case .length(let length):
      data.append(contentsOf: bytes)
      if Int64(data.count) >= length {
        data = data.prefix(Int(clamping: length))
        isComplete = true
      }
    case .chunked(var decoder):
      let (part, isLast) = bytes.withUnsafeBytes { input in
        var (part, offset) = (Data(), 0)
        while part.count < Self.limit {
          switch decoder.next(input, &offset) {
          case .data(let bytes)?: part.append(contentsOf: bytes)
          case .lastChunk?, .failure?: return (part, true)
          case nil: return (part, false)
          }
        }
        return (part, true)
      }
      data.append(part)
      isComplete = isLast
      framing = .chunked(decoder)
    }
    guard data.count >= Self.limit else { return }
    data = data.prefix(Self.limit)
    isComplete = true
  }

  /// Reads the body as far as it is needed and arrives in time. The transport is of no use afterwards.
  mutating func read(from transport: any ByteTransport, clock: any Clock<Duration>) async {
    guard !isComplete else { return }
    var refusal = self
    defer { self = refusal }
    await withTaskCancellationHandler {
      try? await TimeLimit.run(Self.patience, clock: clock, error: WebSocketError.timedOut, stop: transport.cancel) {
        while !refusal.isComplete {
          let bytes = try await transport.receive()
          guard !bytes.isEmpty else { return }
          refusal.receive(bytes)
        }
      }
    } onCancel: {
      transport.cancel()
    }
  }
}
