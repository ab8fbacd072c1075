import Foundation

extension LoopbackServer {
  /// Raises the number of descriptors that this process may open, as far as the system permits; a connection uses one
  /// at either end. Returns the new limit. The limit is never lowered.
  @discardableResult
  public static func raiseDescriptorLimit(to count: Int) -> Int {
    #if canImport(Darwin)
      let resource = RLIMIT_NOFILE
    #else
      let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #endif
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0 else { return 0 }
    let wanted = min(rlim_t(clamping: count), limit.rlim_max)
    if wanted > limit.rlim_cur {
      var raised = limit
      raised.rlim_cur = wanted
      if setrlimit(resource, &raised) == 0 { limit = raised }
    }
    return Int(clamping: limit.rlim_cur)
  }
}
