// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
import Foundation
import Logging

// What an adapter needs of the Swift SDK of MCP, which is not available here, declared as its documentation does.

public protocol Transport: Actor {
  var logger: Logger { get }
  func connect() async throws
  func disconnect() async
  func send(_ data: Data) async throws
  func receive() -> AsyncThrowingStream<Data, any Error>
}
