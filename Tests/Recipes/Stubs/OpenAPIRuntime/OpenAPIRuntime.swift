// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
import Foundation
import HTTPTypes

// What an adapter needs of swift-openapi-runtime, which is not available here, declared as its documentation does.

public protocol ClientTransport: Sendable {
  func send(
    _ request: HTTPRequest, body: HTTPBody?, baseURL: URL, operationID: String
  ) async throws -> (HTTPResponse, HTTPBody?)
}

public final class HTTPBody: AsyncSequence, Sendable {
  public typealias ByteChunk = ArraySlice<UInt8>
  public typealias Element = ByteChunk

  public enum IterationBehavior: Sendable { case single, multiple }

  public enum Length: Sendable, Equatable {
    case unknown
    case known(Int64)
  }

  public let iterationBehavior: IterationBehavior
  public let length: Length
  private let makeNext: @Sendable () -> () async throws -> ByteChunk?

  public init<Bytes: AsyncSequence & Sendable>(
    _ sequence: Bytes, length: Length, iterationBehavior: IterationBehavior
  ) where Bytes.Element == ByteChunk {
    self.length = length
    self.iterationBehavior = iterationBehavior
    makeNext = {
      var iterator = sequence.makeAsyncIterator()
      return { try await iterator.next() }
    }
  }

  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let produce: () async throws -> ByteChunk?
    public mutating func next() async throws -> ByteChunk? { try await produce() }
  }

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(produce: makeNext()) }
}
