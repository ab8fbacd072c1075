#if os(Linux)
  import Dispatch
  import Foundation

  @testable import EKNetwork

  /// A network of a test's own, in which it brings links up and down without affecting anything outside.
  final class NetworkNamespace: Sendable {
    struct Failure: Error { var text: String }

    /// Whether the machine and the user's rights allow it.
    static let isAvailable = (try? NetworkNamespace().inside { true }) ?? false

    /// A shell in the namespace, which ends with this value.
    private let shell: ChildProcess
    private let handle: OpenFile

    init() throws {
      shell = try ChildProcess("unshare", ["--net", "sh"], hidesErrors: true)
      let number = try Self.ask(shell, "echo $$")
      guard let handle = OpenFile("/proc/\(number)/ns/net", O_RDONLY | O_CLOEXEC) else {
        throw Failure(text: "The namespace cannot be opened: \(errno)")
      }
      self.handle = handle
      // The two ends of a cable.
      try run("ip link set lo up && ip link add v0 type veth peer name v1")
    }

    /// Runs commands of the shell; throws if they fail.
    func run(_ commands: String) throws {
      let status = try Self.ask(shell, "{ \(commands); } >/dev/null 2>&1; echo $?")
      guard status == "0" else { throw Failure(text: "\(commands): \(status)") }
    }

    /// Brings the cable up, with an address and a default route.
    func connect() throws {
      try run(
        "ip link set v1 up && ip link set v0 up && ip addr replace 192.0.2.1/24 dev v0"
          + " && ip route replace default via 192.0.2.2")
    }

    /// Runs work in the namespace, on a thread that ends there.
    func inside<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) throws -> Value {
      let result = Locked<Result<Value, any Error>>(.failure(Failure(text: "The thread has not run")))
      let isDone = DispatchSemaphore(value: 0)
      Thread.detachNewThread { [handle] in
        let outcome = Result {
          try Self.enter(handle.descriptor)
          return try work()
        }
        result.withLock { $0 = outcome }
        isDone.signal()
      }
      isDone.wait()
      return try result.withLock { $0 }.get()
    }

    /// setns(2), which glibc's header declares only with GNU extensions.
    private static func enter(_ descriptor: Int32) throws {
      typealias SetNamespace = @convention(c) (Int32, Int32) -> Int32
      guard let symbol = dlsym(nil, "setns") else { throw Failure(text: "There is no setns") }
      // CLONE_NEWNET
      guard unsafeBitCast(symbol, to: SetNamespace.self)(descriptor, 0x4000_0000) == 0 else {
        throw Failure(text: "The namespace cannot be entered: \(errno)")
      }
    }

    private static func ask(_ shell: ChildProcess, _ question: String) throws -> String {
      try shell.write(Data((question + "\n").utf8))
      return String(decoding: try shell.readLine(), as: UTF8.self)
    }
  }
#endif
