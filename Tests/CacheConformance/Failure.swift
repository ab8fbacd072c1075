/// The reason why a test failed, with the names that the suite uses.
struct Failure: Error {
  var name: String
  var message: String

  /// A precondition of the test did not hold.
  static func setup(_ message: String) -> Failure { Failure(name: "Setup", message: message) }

  /// An assertion of the test did not hold.
  static func assertion(_ message: String) -> Failure { Failure(name: "Assertion", message: message) }
}

func expect(_ condition: Bool, isSetup: Bool, _ message: @autoclosure () -> String) throws {
  guard !condition else { return }
  throw isSetup ? Failure.setup(message()) : Failure.assertion(message())
}
