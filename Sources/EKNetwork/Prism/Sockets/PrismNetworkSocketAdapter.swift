import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif
#if canImport(Darwin)
  import Network
#endif

/// A socket client: WebSocket, or newline-delimited lines over TCP or TLS, as the endpoint's parameters say.
///
/// Frames are lines, split at `\n` or `\r\n`; the end of a WebSocket message ends one as well. A stream that is not
/// read slows the server down. Ending the stream, or dropping it, ends the connection.
public actor PrismNetworkSocketAdapter: PrismNetworkSocketClient {
  private let options: WebSocketOptions
  private let maximumLineLength: Int
  private var session: SocketSession?
  private var generation = 0

  /// An adapter without a connection.
  ///
  /// - Parameters:
  ///   - options: Limits and times; the connect timeout is for both kinds of connection.
  ///   - maximumLineLength: In bytes; a longer line ends the connection. Defaults to 16 MiB.
  public init(options: WebSocketOptions = WebSocketOptions(), maximumLineLength: Int = 16 << 20) {
    self.options = options
    self.maximumLineLength = maximumLineLength
  }

  /// Connects, and closes an earlier connection, whose stream ends.
  ///
  /// - Returns: The received frames, for one reader. The stream ends when the connection closes or fails;
  ///   ``disconnectionError`` says why.
  /// - Throws: What the endpoint's port throws; ``PrismNetworkError/noConnectivity`` when there is no connection to
  ///   be had, ``PrismNetworkError/unauthorized`` and others by the status with which a WebSocket is refused;
  ///   `CancellationError`. ``PrismNetworkFailure/detailed(_:)`` has what was behind it.
  public func connect(to endpoint: any PrismNetworkSocketEndpoint) async throws -> AsyncStream<Data> {
    disconnect()
    generation += 1
    let mine = generation
    let new = SocketSession(try await open(SocketDestination(endpoint)), maximumLineLength: maximumLineLength)
    guard mine == generation else {
      new.cancel()
      throw CancellationError()
    }
    session = new
    let token = SocketStreamToken(new)
    return AsyncStream(unfolding: { await token.session.next() }, onCancel: { new.cancel() })
  }

  /// Sends a command as one line and returns when the system has taken it.
  ///
  /// - Throws: ``PrismNetworkError/noConnectivity`` without a connection; `CancellationError`.
  public func send(command: any PrismNetworkSocketCommand) async throws {
    guard let session, !session.isOver else { throw PrismNetworkError.noConnectivity }
    let message = command.message
    // Its bytes, not its characters: "\r\n" is one character, which is not "\n".
    let line = message.utf8.last == UInt8(ascii: "\n") ? message : message + "\n"
    do {
      try await session.send(line)
    } catch is CancellationError {
      throw CancellationError()
    } catch {
      throw PrismNetworkFailure(.noConnectivity, because: error).surfaced
    }
  }

  /// Ends the connection, if there is one; its stream ends.
  public func disconnect() {
    generation += 1
    session?.cancel()
  }

  /// Why the last connection's stream ended: `nil` when the peer closed properly, when this side ended it, or when it
  /// has not ended.
  public var disconnectionError: (any Error)? {
    get async { await session?.failure }
  }

  private func open(_ target: SocketDestination) async throws -> SocketSession.Carrier {
    let options = target.applied(to: options)
    do {
      if target.isWebSocket {
        return .webSocket(
          try await WebSocket.connect(to: target.request(), protocols: target.subprotocols, options: options))
      }
      return .lines(try await Handshake.openBare(target.address(options), options: options))
    } catch let error as PrismNetworkError {
      throw error
    } catch is CancellationError {
      throw CancellationError()
    } catch {
      throw Self.failure(error, url: target.isWebSocket ? try? target.request().url : nil).surfaced
    }
  }

  private static func failure(_ error: any Error, url: URL?) -> PrismNetworkFailure {
    switch error {
    case WebSocketError.refused(let status, let headers):
      PrismNetworkFailure(
        PrismNetworkError(status: status), because: error, url: url, statusCode: status, headers: headers)
    case WebSocketError.invalidURL: PrismNetworkFailure(.invalidURL, because: error, url: url)
    case is InvalidHeaderError: PrismNetworkFailure(.badRequest, because: error, url: url)
    case WebSocketError.invalidHandshake: PrismNetworkFailure(.invalidResponse, because: error, url: url)
    default: PrismNetworkFailure(.noConnectivity, because: error, url: url)
    }
  }
}

/// Ends the connection when its stream is dropped.
private final class SocketStreamToken: Sendable {
  let session: SocketSession

  init(_ session: SocketSession) { self.session = session }

  deinit { session.cancel() }
}
