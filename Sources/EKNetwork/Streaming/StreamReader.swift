import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One loop over a response body: pulls a chunk when the parser has used up the last one, and nothing before.
///
/// There is no task and no buffer between the consumer and the transport. When the loop is left, by whatever way, the
/// stream that holds the reader goes, and the reader takes the exchange with it.
final class StreamReader<Parser: StreamParser>: Sendable {
  private struct State {
    var parser: Parser
    var isPulling = false
    var hasStarted = false
    var isAtEnd = false
    var isOver = false
  }

  private enum Step {
    case element(Parser.Element)
    case pull
    case end
    case failure(any Error)
  }

  private let body: any TransportBody
  private let state: Locked<State>

  init(_ body: any TransportBody, parser: Parser) {
    self.body = body
    state = Locked(State(parser: parser))
  }

  deinit {
    // A stream that nobody has read from does not speak for the others that may be read.
    if state.withLock({ $0.hasStarted }) { body.cancel() }
  }

  /// The elements, pulled by whoever iterates.
  var stream: AsyncThrowingStream<Parser.Element, Error> {
    AsyncThrowingStream {
      // Most elements are there already: those take no detour through another asynchronous function.
      let step = self.step()
      if case .element(let element) = step { return element }
      return try await self.next(after: step)
    }
  }

  /// Where the parser stands.
  var parser: Parser { state.withLock { $0.parser } }

  nonisolated(nonsending) func next() async throws -> Parser.Element? { try await next(after: step()) }

  private nonisolated(nonsending) func next(after first: Step) async throws -> Parser.Element? {
    var step = first
    while true {
      switch step {
      case .element(let element): return element
      case .end: return nil
      case .failure(let error):
        body.cancel()
        throw error
      case .pull: try await pull()
      }
      step = self.step()
    }
  }

  private nonisolated(nonsending) func pull() async throws {
    do {
      let chunk = try await body.next()
      state.withLock { state in
        state.isPulling = false
        if let chunk { state.parser.append(chunk) } else { state.isAtEnd = true }
      }
    } catch {
      state.withLock { state in
        state.isPulling = false
        state.isOver = true
      }
      throw error
    }
  }

  private func step() -> Step { state.withLock { Self.step(&$0) } }

  private static func step(_ state: inout State) -> Step {
    guard !state.isOver else { return .end }
    // Two loops over one stream: neither could make sense of its half.
    guard !state.isPulling else { return .failure(URLError(.cannotLoadFromNetwork)) }
    state.hasStarted = true
    do {
      if let element = try state.isAtEnd ? state.parser.finish() : state.parser.next() { return .element(element) }
    } catch {
      state.isOver = true
      return .failure(error)
    }
    if state.isAtEnd {
      state.isOver = true
      return .end
    }
    state.isPulling = true
    return .pull
  }
}
