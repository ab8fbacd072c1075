#if os(Linux)
  import CCurl
  import Foundation
  import FoundationNetworking

  /// A connection that is being opened for a request. Others to the same origin wait for it, too, as long as it may become
  /// one that they can share (RFC 9113 §5).
  final class OpeningConnection: LoopConnection, LoopExchange {
    let version: ConnectionOptions.HTTPVersion
    private var opener: ConnectionOpener?
    private var transfers: [Transfer] = []
    /// When libcurl has to be called.
    private var openerTimer = UInt64.max
    /// When it has taken too long.
    private var limit = UInt64.max
    /// When libcurl's own limit ends it, if not after a day. It cannot be moved: an old libcurl has distributed it among the
    /// addresses.
    private var curlEnd = UInt64.max
    /// How many idle connections are closed for it at most if the process has no descriptors left. Beside that of its socket it
    /// needs some for the resolver and libcurl's own wake-up, and others may be opened at the same time.
    private static let mostToClose = 8
    private var hasMadeRoom = false

    init(
      _ pool: ConnectionPool, _ origin: Origin, version: ConnectionOptions.HTTPVersion, for eventLoop: EventLoop
    ) {
      self.version = version
      super.init(number: eventLoop.connections.nextNumber(), pool: pool, origin: origin, eventLoop: eventLoop)
    }

    var carrier: LoopConnection { self }

    /// Begins to open the connection for a request.
    ///
    /// - Returns: An error if that is not possible.
    func open(for transfer: Transfer) -> (any Error)? {
      join(transfer)
      if let timeout = pool.identity.options.connectTimeout {
        limit = MonotonicClock.now().addingClamped(timeout.clampedNanoseconds)
      }
      return begin(for: transfer)
    }

    private func begin(for transfer: Transfer) -> (any Error)? {
      var endpoint = ByteTransportEndpoint(
        host: origin.hostToConnect, port: origin.port, isSecure: origin.scheme == "https")
      endpoint.proxy = transfer.request.proxy
      endpoint.tls = pool.identity.tls
      endpoint.route = pool.identity.route
      endpoint.isForHTTP = true
      let (now, last) = (eventLoop.now, transfers.lazy.map { self.waitEnd(of: $0) }.max() ?? 0)
      endpoint.connectWait = last - min(now, last)
      let milliseconds = CurlHandles.limit(for: endpoint.connectWait)
      if milliseconds < CurlHandles.longestLimit { curlEnd = now.addingClamped(UInt64(milliseconds) * 1_000_000) }
      endpoint.offersHTTP2 = version != .http1 && endpoint.isSecure
      openerTimer = .max
      do {
        repeat {
          opener = try ConnectionOpener(
            endpoint, eventLoop.capabilities, shared: eventLoop.opening, names: pool.names ?? eventLoop.names,
            watch: { [unowned self] in eventLoop.watch($0, $1, connection: number) },
            setTimer: { [unowned self] in
              openerTimer = LoopTime.timer(milliseconds: $0, now: MonotonicClock.now())
              setTimer()
            }, mustStop: { [unowned self] in mustStop })
        } while opener == nil && makesRoom()
      } catch {
        return error
      }
      guard opener != nil else { return CurlError.urlError(.noResources, url: transfer.request.url) }
      setTimer()
      act(on: Int32(EKN_SOCKET_TIMEOUT), events: 0)
      return nil
    }

    /// Closes idle connections, once, so that another attempt may succeed. Returns whether there were any.
    private func makesRoom() -> Bool {
      guard !hasMadeRoom else { return false }
      hasMadeRoom = true
      for count in 0..<Self.mostToClose {
        guard let connection = eventLoop.pools.takeFirstIdle() else { return count > 0 }
        connection.close()
      }
      return true
    }

    private func setTimer() { eventLoop.connections.setTimer(self, at: min(openerTimer, limit)) }

    /// Lets another request wait for it.
    func join(_ transfer: Transfer) {
      transfers.append(transfer)
      transfer.loopConnection = self
    }

    /// Whether a request that begins to wait now may wait for it: it must not be ended earlier because another one waits
    /// for less.
    func outlasts(_ transfer: Transfer) -> Bool { waitEnd(of: transfer) <= curlEnd }

    /// When a request that begins to wait now stops at the latest.
    private func waitEnd(of transfer: Transfer) -> UInt64 {
      min(eventLoop.now.addingClamped(transfer.request.idleTimeout), transfer.request.deadline, limit)
    }

    override func ready(_ descriptor: Int32, events: Int32) { act(on: descriptor, events: events) }

    override func timerFired() {
      guard limit <= eventLoop.now else { return act(on: Int32(EKN_SOCKET_TIMEOUT), events: 0) }
      let transfers = transfers
      for transfer in transfers { eventLoop.finish(transfer, with: tooLate(transfer)) }
      close()
    }

    private func tooLate(_ transfer: Transfer) -> any Error {
      URLError(.cannotConnectToHost, url: transfer.request.url, description: "The connection took too long to open")
    }

    private func act(on descriptor: Int32, events: Int32) {
      guard let outcome = opener?.act(on: descriptor, events: events) else { return }
      opener = nil
      if case .failure(let failure) = outcome, CurlError.urlErrorCode(failure) == .resourceUnavailable,
        let first = transfers.first, makesRoom(), begin(for: first) == nil
      {
        return
      }
      pool.shared.opened(self)
      let transfers = transfers
      switch outcome {
      case .success(let (bytes, times)):
        for transfer in transfers {
          transfer.loopConnection = nil
          // Others did not let it stop. From now on, a failure need not be one before anything was sent.
          transfer.loopFailure = nil
        }
        self.transfers = []
        eventLoop.opened(self, bytes, times, for: transfers)
      case .failure(let failure):
        let isTooLate = failure.code == CurlError.timeLimit && limit <= eventLoop.now
        for transfer in transfers {
          if isTooLate {
            eventLoop.finish(transfer, with: tooLate(transfer))
          } else {
            eventLoop.failed(transfer, failure, .init(code: failure.code))
          }
        }
        close()
      }
    }

    private var mustStop: Bool {
      let now = MonotonicClock.now()
      for transfer in transfers where !transfer.isOver && transfer.loopDeadline <= now {
        transfer.loopFailure = URLError(
          .timedOut, url: transfer.request.url, description: "The request timed out", cause: UnsentRequestError())
      }
      for transfer in transfers where !transfer.isOver && limit <= now && transfer.loopFailure == nil {
        transfer.loopFailure = tooLate(transfer)
      }
      return transfers.allSatisfy { $0.isOver || $0.loopFailure != nil }
    }

    override func close() {
      pool.shared.opened(self)
      eventLoop.connections.remove(self)
      opener?.cancel()
      opener = nil
    }

    func resumed() {}
    func paused() {}
    func delivered() {}

    func abandon(_ transfer: Transfer) {
      transfer.loopConnection = nil
      transfers.removeAll { $0 === transfer }
      if transfers.isEmpty { close() }
    }

    func timings(of transfer: Transfer) -> NetworkTimings {
      let now = MonotonicClock.now()
      return NetworkTimings(
        total: .nanoseconds(Int64(clamping: now - min(transfer.loopBegun, now))), isConnectionReused: false)
    }
  }
#endif
