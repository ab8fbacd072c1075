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

    static func failure(_ failure: ResponseHeadRules.Failure) -> Action { .failure(failure.code, failure.text) }
  }

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
      guard line.starts(with: "HTTP/".utf8), line.count > 5, ResponseHeadRules.isDigit(line[5]) else {
        return .failure(ResponseHeadRules.notHTTP)
      }
      // HTTP/2 and HTTP/3 are negotiated with TLS (RFC 9113 §3.2, RFC 9114 §3.1), and have no status line at all.
      if line[5] == UInt8(ascii: "2") || line[5] == UInt8(ascii: "3") {
        guard line[5] == UInt8(ascii: "2"), mayUseHTTP2, isHTTP2() else { return .wrongVersion }
      }
      lines.reserveCapacity(512)
    }
    guard lines.count + line.count <= ResponseHeadRules.maximumSize else {
      return .failure(ResponseHeadRules.headIsTooLong)
    }
    guard !ResponseHeadRules.hasControlCharacter(line) else { return .failure(ResponseHeadRules.controlCharacter) }
    lines.append(contentsOf: line)
    switch line.first {
    case UInt8(ascii: "\n"): return endOfBlock()
    case UInt8(ascii: "\r") where line.count > 1 && line[1] == UInt8(ascii: "\n"): return endOfBlock()
    case UInt8(ascii: " "), UInt8(ascii: "\t"): return folded() ?? .none
    case UInt8(ascii: "H") where !isFirst && line.starts(with: "HTTP/".utf8):
      return .failure(ResponseHeadRules.secondStatusLine)
    default: return .none
    }
  }

  /// RFC 9112 §5.2: a client has to accept folded lines, which no current server sends.
  private mutating func folded() -> Action? {
    foldCount += 1
    guard foldCount > ResponseHeadRules.maximumFolds else { return nil }
    return .failure(ResponseHeadRules.tooManyFolds)
  }

  /// Ignores trailers, but limits their size, because libcurl stores them.
  private mutating func trailer(_ line: UnsafeRawBufferPointer) -> Action {
    trailerSize += line.count
    guard trailerSize <= ResponseHeadRules.maximumSize else {
      return .failure(ResponseHeadRules.trailersAreTooLong)
    }
    let isFolded = line.first == UInt8(ascii: " ") || line.first == UInt8(ascii: "\t")
    return (isFolded ? folded() : nil) ?? .none
  }

  private mutating func endOfBlock() -> Action {
    guard let head = RawHead(bytes: lines, url: url) else { return .failure(ResponseHeadRules.malformedStatusLine) }
    if let failure = ResponseHeadRules.failure(of: head, method: method) { return .failure(failure) }
    guard head.statusCode >= 200 else { return interimResponse() }
    isComplete = true
    return .head(head)
  }

  /// Ignores an interim response, but limits the size of all: each restarts the idle timeout, so that a server could
  /// send them for ever, and libcurl stores them.
  private mutating func interimResponse() -> Action {
    interimSize += lines.count
    lines.removeAll(keepingCapacity: true)
    guard interimSize <= ResponseHeadRules.maximumSize else {
      return .failure(ResponseHeadRules.interimResponsesAreTooLong)
    }
    return .none
  }
}
