import Testing

@testable import EKNetwork

/// What a parser makes of the bytes that a server sends before it closes, however they are split.
struct ResponseTranscript: Equatable, CustomStringConvertible {
  private(set) var heads: [RawHead] = []
  private(set) var body: [UInt8] = []
  private(set) var failure: String?
  private(set) var code: URLError.Code?
  /// How many bytes the response has; `nil` if it has no end of its own.
  private(set) var length: Int?
  private(set) var ending: ResponseParser.Ending?
  private(set) var isPersistent = false
  private(set) var isEmpty = true
  private(set) var expectedLength: Int64?
  private(set) var trailers: [String] = []

  /// - Parameters:
  ///   - splits: Where the bytes are divided, in ascending order.
  ///   - passesBody: Whether the bytes of the body are not parsed where the parser knows that they are.
  init(_ bytes: [UInt8], method: String = "GET", splits: some Sequence<Int> = [], passesBody: Bool = false) {
    var parser = ResponseParser(url: URL(string: "http://x/")!, method: method)
    var start = 0
    for end in Array(splits) + [bytes.count] {
      // A copy of its own: the parser must not read beyond what it was given.
      let piece = Array(bytes[start..<end])
      piece.withUnsafeBytes { piece in
        let passed = passesBody ? min(parser.nextBodyBytes, piece.count) : 0
        body += piece[..<passed]
        parser.receivedBody(passed)
        feed(UnsafeRawBufferPointer(rebasing: piece[passed...]), to: &parser, at: start + passed)
      }
      start = end
    }
    if failure == nil, length == nil { ending = parser.closed() }
    isPersistent = parser.isPersistent
    isEmpty = parser.isEmpty
    expectedLength = parser.expectedLength
    trailers = (parser.trailers?.fields ?? []).map { "\($0.name)=\($0.value)" }
  }

  init(_ text: String, method: String = "GET", splits: some Sequence<Int> = [], passesBody: Bool = false) {
    self.init(Array(text.utf8), method: method, splits: splits, passesBody: passesBody)
  }

  private mutating func feed(_ piece: UnsafeRawBufferPointer, to parser: inout ResponseParser, at start: Int) {
    var offset = 0
    while failure == nil, length == nil {
      guard let event = parser.next(piece, &offset) else {
        #expect(offset == piece.count)
        return
      }
      #expect(offset <= piece.count)
      switch event {
      case .interim(let head), .head(let head): heads.append(head)
      case .body(let bytes):
        #expect(!bytes.isEmpty)
        body += bytes
      case .end: length = start + offset
      case .failure(let code, let text):
        self.code = code
        failure = text
      }
    }
  }

  /// Such as `103 200 "body" end at 90, persistent`.
  var description: String {
    var words = heads.map { String($0.statusCode) }
    if !body.isEmpty { words.append("\"\(String(decoding: body, as: UTF8.self))\"") }
    if let failure { words.append("failure: \(failure)") }
    if let length { words.append("end at \(length)") }
    if let ending { words.append("closed: \(ending)") }
    return words.joined(separator: " ") + (isPersistent ? ", persistent" : "")
  }

  static func == (left: Self, right: Self) -> Bool {
    left.description == right.description && left.heads.map(\.bytes) == right.heads.map(\.bytes)
      && left.body == right.body && left.code == right.code && left.isEmpty == right.isEmpty
      && left.expectedLength == right.expectedLength && left.trailers == right.trailers
  }
}
