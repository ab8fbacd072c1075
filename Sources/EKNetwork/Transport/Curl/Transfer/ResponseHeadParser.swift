import Foundation

/// A parser that gathers the head of the final response from the lines that libcurl passes on one by one.
///
/// It receives every block of lines: interim responses (RFC 9110 §15.2), the final one, and trailer fields (RFC 9110
/// §6.5), which must not end up in the head.
struct ResponseHeadParser {
  enum Action {
    /// The head is not complete yet, or the line was not part of it.
    case none
    /// The final head.
    case head(RawHead)
    /// The response claims a version of HTTP that was not negotiated.
    case wrongVersion
    /// The response cannot be trusted.
    case failure(URLError.Code, String)
  }

  /// The limit that libcurl has in some versions: a head may have 300 KB in all. So may the interim responses before it
  /// together, and the trailers.
  static let maximumSize = 300 * 1024
  /// The number of folded lines that a response may have: some versions of libcurl copy the whole value for each.
  static let maximumFolds = 100

  private let url: URL
  private let method: String
  private let mayUseHTTP2: Bool
  private var lines: [UInt8] = []
  private var interimSize = 0
  private var trailerSize = 0
  private var foldCount = 0
  /// Whether the final head is complete.
  private(set) var isComplete = false

  /// - Parameters:
  ///   - method: The method of the request.
  ///   - mayUseHTTP2: Whether the server may have chosen HTTP/2.
  init(url: URL, method: String, mayUseHTTP2: Bool) {
    self.url = url
    self.method = method
    self.mayUseHTTP2 = mayUseHTTP2
  }

  /// Whether nothing of a final response has been seen.
  var isEmpty: Bool { lines.isEmpty && !isComplete }

  /// - Parameter isHTTP2: Whether HTTP/2 was negotiated; only evaluated if the line claims it.
  mutating func line(_ line: UnsafeRawBufferPointer, isHTTP2: @autoclosure () -> Bool) -> Action {
    guard !isComplete else { return trailer(line) }
    let isFirst = lines.isEmpty
    if isFirst {
      // RFC 9112 §2.3: the name of the protocol is case-sensitive.
      guard line.starts(with: "HTTP/".utf8), line.count > 5, Self.isDigit(line[5]) else {
        return .failure(.badServerResponse, "The response does not begin with a status line of HTTP")
      }
      // HTTP/2 and HTTP/3 are negotiated with TLS (RFC 9113 §3.2, RFC 9114 §3.1), and have no status line at all.
      if line[5] == UInt8(ascii: "2") || line[5] == UInt8(ascii: "3") {
        guard line[5] == UInt8(ascii: "2"), mayUseHTTP2, isHTTP2() else { return .wrongVersion }
      }
      lines.reserveCapacity(512)
    }
    guard lines.count + line.count <= Self.maximumSize else {
      return .failure(.dataLengthExceedsMaximum, "The response head is longer than \(Self.maximumSize) bytes")
    }
    lines.append(contentsOf: line)
    switch line.first {
    case UInt8(ascii: "\n"): return endOfBlock()
    case UInt8(ascii: "\r") where line.count > 1 && line[1] == UInt8(ascii: "\n"): return endOfBlock()
    case UInt8(ascii: " "), UInt8(ascii: "\t"): return folded() ?? .none
    case UInt8(ascii: "H") where !isFirst && line.starts(with: "HTTP/".utf8):
      return .failure(.badServerResponse, "The response head has two status lines")
    default: return .none
    }
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

  /// RFC 9112 §5.2: a client has to accept folded lines, which no current server sends.
  private mutating func folded() -> Action? {
    foldCount += 1
    guard foldCount > Self.maximumFolds else { return nil }
    return .failure(.badServerResponse, "The response has more than \(Self.maximumFolds) folded header lines")
  }

  /// Ignores trailers, but limits their size, because libcurl stores them.
  private mutating func trailer(_ line: UnsafeRawBufferPointer) -> Action {
    trailerSize += line.count
    guard trailerSize <= Self.maximumSize else {
      return .failure(.dataLengthExceedsMaximum, "The response's trailers are longer than \(Self.maximumSize) bytes")
    }
    let isFolded = line.first == UInt8(ascii: " ") || line.first == UInt8(ascii: "\t")
    return (isFolded ? folded() : nil) ?? .none
  }

  private mutating func endOfBlock() -> Action {
    guard let head = RawHead(bytes: lines, url: url) else {
      return .failure(.badServerResponse, "The status line is malformed")
    }
    if head.statusCode == 101 {
      // RFC 9110 §15.2.2: this is only allowed for requests with an Upgrade field, and none is sent here.
      return .failure(.badServerResponse, "The server switched protocols without an Upgrade request")
    }
    guard head.statusCode >= 200 else { return interimResponse() }
    // RFC 9112 §6.3: a response without a body ends with its head, whatever the fields say.
    if let failure = unknownTransferCoding(head) ?? contradictoryLength(head),
      ResponseHead(head).hasBody(method: method)
    {
      return failure
    }
    isComplete = true
    return .head(head)
  }

  /// Ignores an interim response, but limits the size of all: each restarts the idle timeout, so that a server could
  /// send them for ever, and libcurl stores them.
  private mutating func interimResponse() -> Action {
    interimSize += lines.count
    lines.removeAll(keepingCapacity: true)
    guard interimSize <= Self.maximumSize else {
      return .failure(.dataLengthExceedsMaximum, "The interim responses are longer than \(Self.maximumSize) bytes")
    }
    return .none
  }

  /// RFC 9112 §6.1: only chunked was offered, and libcurl passes on codings that it does not know as if they were the
  /// body.
  private func unknownTransferCoding(_ head: RawHead) -> Action? {
    guard head.has("transfer-encoding") else { return nil }
    let codings = head.values("transfer-encoding").flatMap { $0.split(separator: ",") }
      .map { $0.trimmingCharacters(in: .whitespaces).lowercased() }
    guard let coding = codings.first(where: { $0 != "chunked" && $0 != "identity" }) else { return nil }
    return .failure(.badServerResponse, "The response has an unsupported transfer coding: \(coding.prefix(40))")
  }

  /// RFC 9112 §6.3: differing lengths are an unrecoverable error, unless the body is chunked and they are ignored.
  private func contradictoryLength(_ head: RawHead) -> Action? {
    guard head.has("content-length"), head.number("content-length") == nil, !head.has("transfer-encoding") else {
      return nil
    }
    let lengths = head.values("content-length")
    let values = lengths.flatMap { $0.split(separator: ",") }.map { $0.trimmingCharacters(in: .whitespaces) }
    guard let first = values.first, values.allSatisfy({ $0 == first }) else {
      return .failure(.badServerResponse, "The response has contradictory Content-Length fields")
    }
    guard first.utf8.allSatisfy(Self.isDigit), Int64(first) != nil else {
      return .failure(.badServerResponse, "The response's Content-Length is not a valid number")
    }
    return nil
  }
}
