import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Which machinery carries the requests of a `URLSession`.
enum TransportChoice: Sendable {
  case automatic
  case urlSession
}

/// The one place that decides.
enum TransportSelection {
  static func transport(for session: URLSession, choice: TransportChoice = .automatic) -> any Transport {
    URLSessionTransport(session)
  }
}
