import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The `URLCache` that an adapter was given; else one in memory, made when it is first needed.
final class SharedURLCache: Sendable {
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
        // Under the lock, because it happens once: all that Foundation does is to make a directory.
        #if canImport(Darwin)
          // Without a directory it would share the app's own cache's.
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
