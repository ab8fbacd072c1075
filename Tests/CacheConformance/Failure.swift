/// Why a test did not pass, under the names of the suite.
struct Failure: Error {
  var name: String
  var message: String

  /// What the test takes for granted did not hold.
  static func setup(_ message: String) -> Failure { Failure(name: "Setup", message: message) }

  /// What the test asks did not hold.
  static func assertion(_ message: String) -> Failure { Failure(name: "Assertion", message: message) }
}

func expect(_ condition: Bool, isSetup: Bool, _ message: @autoclosure () -> String) throws {
  guard !condition else { return }
  throw isSetup ? Failure.setup(message()) : Failure.assertion(message())
}
