import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The entry point that libFuzzer calls with each input, in one module with the parser's sources.
///
/// The first byte selects the method of the request. The second seeds the cuts, which are at every byte if it is even.
/// The rest is what the server sends before it closes. Besides traps and invalid memory accesses, it detects responses
/// that depend on the cuts, and a parser that does not advance or does not stop.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzResponseParser(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  guard count >= 2, let start else { return 0 }
  let method = ["GET", "HEAD", "CONNECT", "GET"][Int(start[0] & 3)]
  let bytes = UnsafeRawBufferPointer(start: start + 2, count: count - 2)
  let whole = Transcript(bytes, method: method) { .max }
  whole.check(method: method)
  let isByteByByte = start[1] & 1 == 0
  var state = UInt32(start[1])
  let cut = Transcript(bytes, method: method) {
    guard !isByteByByte else { return 1 }
    state = state &* 1_664_525 &+ 1_013_904_223
    // Mostly a few bytes, sometimes many, and sometimes none.
    return Int(state >> 28 == 0 ? state >> 16 & 0xFF : state >> 24 & 31)
  }
  precondition(whole == cut, "the response depends on the cuts")
  return 0
}

private let url = URL(fileURLWithPath: "/")

/// What a parser makes of a server's bytes.
private struct Transcript: Equatable {
  private var interim: [[UInt8]] = []
  private var head: [UInt8]?
  private var body: [UInt8] = []
  /// How many bytes the response has; `nil` if it has no end of its own.
  private var length: Int?
  private var failure: String?
  private var ending: ResponseParser.Ending
  private var isPersistent = false
  private var isEmpty = true
  private var expectedLength: Int64?
  private var trailers: [String] = []

  /// - Parameter cut: Returns the size of the next piece.
  init(_ bytes: UnsafeRawBufferPointer, method: String, cut: () -> Int) {
    var parser = ResponseParser(url: url, method: method)
    ending = .nothing
    var used = 0
    // Each piece is a block of its own, so that the address sanitizer detects accesses beyond it, and later ones.
    var piece = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    defer { piece.deallocate() }
    repeat {
      let count = min(cut(), bytes.count - used)
      if count != piece.count {
        piece.deallocate()
        piece = .allocate(byteCount: count, alignment: 1)
      }
      piece.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[used..<(used + count)]))
      feed(UnsafeRawBufferPointer(piece), to: &parser, at: used)
      used += count
    } while used < bytes.count && !isOver
    ending = parser.closed()
    isPersistent = parser.isPersistent
    isEmpty = parser.isEmpty
    expectedLength = parser.expectedLength
    trailers = (parser.trailers?.fields ?? []).map { "\($0.name)=\($0.value)" }
    if ending == .complete { checkLast(&parser, UnsafeRawBufferPointer(start: nil, count: 0), 0) }
  }

  /// Whether nothing more may come.
  private var isOver: Bool { length != nil || failure != nil }

  private mutating func feed(_ piece: UnsafeRawBufferPointer, to parser: inout ResponseParser, at used: Int) {
    var offset = 0
    while !isOver {
      let before = offset
      guard let event = parser.next(piece, &offset) else {
        precondition(offset == piece.count, "bytes were left")
        return
      }
      precondition(before <= offset && offset <= piece.count, "the offset is outside the input")
      // This also limits the number of calls.
      precondition(before < offset || event.isLast, "nothing was used")
      switch event {
      case .interim(let head):
        precondition(self.head == nil && (100..<200).contains(head.statusCode))
        interim.append(head.bytes)
      case .head(let head):
        precondition(self.head == nil && head.statusCode >= 200)
        self.head = head.bytes
      case .body(let bytes):
        precondition(head != nil && !bytes.isEmpty)
        append(bytes, from: UnsafeRawBufferPointer(rebasing: piece[before..<offset]))
      case .end:
        precondition(head != nil)
        length = used + offset
      case .failure(let code, let text): failure = "\(code.rawValue) \(text)"
      }
    }
    checkLast(&parser, piece, offset)
    checkLast(&parser, UnsafeRawBufferPointer(start: nil, count: 0), 0)
  }

  private mutating func append(_ bytes: UnsafeRawBufferPointer, from input: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress, let inputStart = input.baseAddress else { preconditionFailure() }
    let offset = inputStart.distance(to: start)
    precondition(offset >= 0 && offset + bytes.count <= input.count, "the body is outside the input")
    body += bytes
  }

  /// Checks that the last event is returned again.
  private func checkLast(_ parser: inout ResponseParser, _ input: UnsafeRawBufferPointer, _ offset: Int) {
    var after = offset
    switch parser.next(input, &after) {
    case .end: precondition(failure == nil)
    case .failure(let code, let text): precondition(failure == "\(code.rawValue) \(text)")
    default: preconditionFailure("the parser goes on")
    }
    precondition(after == offset, "the parser goes on")
  }

  /// Checks what holds for each response, and reads its heads.
  func check(method: String) {
    for bytes in interim + (head.map { [$0] } ?? []) {
      guard let head = RawHead(bytes: bytes, url: url) else { preconditionFailure() }
      let fields = head.fields
      for (name, value) in fields {
        precondition(!name.isEmpty && name.isOneLine && value.isOneLine)
      }
      precondition(head.joinedFields.count <= fields.count)
      if let number = head.number("content-length") {
        precondition(head.values("content-length").map { Int64($0) } == [number])
      }
      precondition(head.version?.utf8.count == 8 && head.reasonPhrase.utf8.count < bytes.count * 3)
    }
    precondition(!isPersistent || length != nil, "a connection without the end of its response was kept")
    if method == "HEAD" { precondition(body.isEmpty && expectedLength == nil) }
    if let expectedLength {
      precondition(length == nil ? body.count < expectedLength : body.count == expectedLength)
    }
    switch ending {
    case .nothing: precondition(isEmpty && head == nil && failure == nil)
    case .inHead: precondition(!isEmpty && head == nil)
    case .inBody: precondition(!isEmpty && head != nil && length == nil)
    case .complete: precondition(!isEmpty && head != nil && failure == nil)
    }
  }
}

extension ResponseParser.Event {
  fileprivate var isLast: Bool {
    switch self {
    case .end, .failure: true
    default: false
    }
  }
}

extension String {
  /// Whether it contains nothing that others take for the end of a line (RFC 9110 §5.5).
  fileprivate var isOneLine: Bool { utf8.allSatisfy { $0 != 0 && $0 != 0x0a && $0 != 0x0d } }
}
