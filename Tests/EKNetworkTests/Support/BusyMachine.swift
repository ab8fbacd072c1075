import Foundation

/// Runs a test in which an idle timeout must not fire, and repeats it with a longer one if it did: a busy machine may
/// stall for longer than the first. A test that fails with all of them is wrong.
func withTimeoutsThatMustNotPass<Value>(_ test: (_ timeout: TimeInterval) async throws -> Value) async throws -> Value {
  for timeout in [2.0, 8.0] {
    do {
      return try await test(timeout)
    } catch let error as URLError where error.code == .timedOut {}
  }
  return try await test(32)
}
