import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The `URLCache` that an adapter was given, or one in memory, created on first use.
final class AdapterURLCache: Sendable {
  static let memoryCapacity = 8 * 1024 * 1024

  private enum State {
    case given(URLCache)
    case none
    case own(URLCache)
  }

  private let state: Locked<State>

  init(_ cache: URLCache?) { state = Locked(cache.map { .given($0) } ?? .none) }

  var value: URLCache {
    state.withLock { state in
      switch state {
      case .given(let cache), .own(let cache): return cache
      case .none:
        // Under the lock, so that it happens once: all that Foundation does is create a directory.
        #if canImport(Darwin)
          // Without a directory it would share that of the app's own cache.
          let own = FileManager.default.temporaryDirectory.appendingPathComponent("EKNetwork-\(UUID())")
          let cache = URLCache(memoryCapacity: Self.memoryCapacity, diskCapacity: 0, directory: own)
        #else
          let cache = URLCache(memoryCapacity: Self.memoryCapacity, diskCapacity: 0)
        #endif
        state = .own(cache)
        return cache
      }
    }
  }
}
