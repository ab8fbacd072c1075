#if os(Linux)
  import Foundation

  /// The consumer's end of a transfer. Releasing its last reference ends the exchange.
  final class TransferBody: TransportBody {
    private let transfer: Transfer

    init(_ transfer: Transfer) { self.transfer = transfer }

    deinit { transfer.cancel() }

    var timings: NetworkTimings? { transfer.timings }

    func next() async throws -> Data? { try await transfer.next() }

    func cancel() { transfer.cancel() }
  }
#endif
