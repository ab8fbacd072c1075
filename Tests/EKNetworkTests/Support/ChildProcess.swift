#if os(Linux) || os(macOS)
  import Foundation

  @testable import EKNetwork

  /// A child process of the tests, with pipes to it and from it. If its exit has not been waited for, its deinitializer
  /// closes its input and reaps it on a thread: an exit test waits for any child of the process, and would wait forever
  /// for one that has exited and is not reaped.
  ///
  /// Not Foundation's `Process`: its `run()` copies 256 bytes of every directory entry of `/proc/self/fd`, and so reads
  /// past the end of its buffer, possibly into unmapped memory, when more than about 1,300 descriptors are open.
  final class ChildProcess: Sendable {
    struct Failure: Error { var code: Int32 }
    struct HasEnded: Error {}

    private let input: FileHandle
    private let output: FileHandle
    private let identifier: pid_t
    private let status = Locked<Int32?>(nil)

    /// - Parameters:
    ///   - program: A path, or a name that is looked up in `PATH`.
    ///   - environment: Defaults to `nil`: the environment of the tests.
    ///   - hidesErrors: Whether its standard error is discarded.
    init(
      _ program: String, _ arguments: [String], environment: [String: String]? = nil, hidesErrors: Bool = false
    ) throws {
      let (stdin, stdout) = (Pipe(), Pipe())
      #if os(macOS)
        var actions: posix_spawn_file_actions_t?
        var attributes: posix_spawnattr_t?
      #else
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
      #endif
      posix_spawn_file_actions_init(&actions)
      posix_spawnattr_init(&attributes)
      defer {
        posix_spawn_file_actions_destroy(&actions)
        posix_spawnattr_destroy(&attributes)
      }
      posix_spawn_file_actions_adddup2(&actions, stdin.fileHandleForReading.fileDescriptor, 0)
      posix_spawn_file_actions_adddup2(&actions, stdout.fileHandleForWriting.fileDescriptor, 1)
      if hidesErrors { posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0) }
      // A connection that the child inherited would stay open for its peer.
      #if os(macOS)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_CLOEXEC_DEFAULT))
        if !hidesErrors { posix_spawn_file_actions_addinherit_np(&actions, 2) }
      #else
        // glibc 2.34; its header declares it only with GNU extensions.
        typealias CloseFrom = @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32
        guard let symbol = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np") else { throw Failure(code: ENOSYS) }
        _ = unsafeBitCast(symbol, to: CloseFrom.self)(&actions, 3)
      #endif

      let environment = environment ?? ProcessInfo.processInfo.environment
      var argv = ([program] + arguments).map { strdup($0) } + [nil]
      var envp = environment.map { strdup("\($0)=\($1)") } + [nil]
      defer { for string in argv + envp { free(string) } }
      var identifier = pid_t()
      let code = posix_spawnp(&identifier, program, &actions, &attributes, &argv, &envp)
      guard code == 0 else { throw Failure(code: code) }
      self.identifier = identifier
      try stdin.fileHandleForReading.close()
      try stdout.fileHandleForWriting.close()
      input = stdin.fileHandleForWriting
      output = stdout.fileHandleForReading
    }

    /// This program in a process of its own, which runs the tests that match.
    ///
    /// - Parameter added: What is added to the environment of the tests.
    static func tests(filter: String, environment added: [String: String]) throws -> ChildProcess {
      try ChildProcess(
        "/bin/sh",
        ["-c", "exec \"$0\" --testing-library swift-testing --filter '\(filter)' 2>&1", CommandLine.arguments[0]],
        environment: ProcessInfo.processInfo.environment.merging(added) { $1 })
    }

    /// Runs a suite in a process of its own, and returns its exit status and what it says.
    static func run(suite: String, environment: [String: String]) async throws -> (status: Int32, text: String) {
      let child = try tests(filter: "\\.\(suite)/", environment: environment)
      let output = try await withCheckedThrowingContinuation { continuation in
        // Waiting for the process would block a thread of the cooperative pool.
        Thread.detachNewThread { continuation.resume(with: Result { try child.readToEnd() }) }
      }
      return (child.waitUntilExit(), String(decoding: output, as: UTF8.self))
    }

    /// Writes to its input. If it has exited, this throws, and raises no signal, which would end the tests as well.
    func write(_ data: Data) throws {
      #if os(Linux)
        var (pipe, before) = (sigset_t(), sigset_t())
        sigemptyset(&pipe)
        sigaddset(&pipe, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &pipe, &before)
        defer {
          var now = timespec()
          while sigtimedwait(&pipe, nil, &now) == SIGPIPE {}
          pthread_sigmask(SIG_SETMASK, &before, nil)
        }
      #else
        // F_SETNOSIGPIPE
        _ = fcntl(input.fileDescriptor, 73, 1)
      #endif
      try input.write(contentsOf: data)
    }

    /// Its whole output, once it has read `input`, which must fit a pipe's buffer: 64 KB on every platform.
    func run(input data: Data = Data()) throws -> Data {
      if !data.isEmpty { try write(data) }
      try input.close()
      let said = try readToEnd()
      let code = waitUntilExit()
      guard code == 0 else { throw Failure(code: code) }
      return said
    }

    /// Its output up to the next line break, which is left out. It must not have started another line.
    func readLine() throws -> Data {
      var line = Data()
      while line.last != UInt8(ascii: "\n") {
        let piece = try nextPiece()
        guard !piece.isEmpty else { throw HasEnded() }
        line += piece
      }
      return line.dropLast()
    }

    /// Its output up to the end.
    func readToEnd() throws -> Data {
      var said = Data()
      while true {
        let piece = try nextPiece()
        guard !piece.isEmpty else { return said }
        said += piece
      }
    }

    /// Not with `FileHandle`, for which an interrupting signal is an error, and may even end the process.
    private func nextPiece() throws -> Data {
      var piece = Data(count: 65_536)
      while true {
        let count = piece.withUnsafeMutableBytes { read(output.fileDescriptor, $0.baseAddress, $0.count) }
        if count >= 0 { return piece.prefix(count) }
        guard errno == EINTR else { throw Failure(code: errno) }
      }
    }

    /// Its status as `waitpid` reports it.
    @discardableResult
    func waitUntilExit() -> Int32 {
      // The lock is held meanwhile: concurrent callers wait for the same exit.
      status.withLock { known in
        let status = known ?? Self.wait(for: identifier)
        known = status
        return status
      }
    }

    private static func wait(for identifier: pid_t) -> Int32 {
      var status: Int32 = 0
      while waitpid(identifier, &status, 0) < 0, errno == EINTR {}
      return status
    }

    deinit {
      guard status.withLock({ $0 == nil }) else { return }
      try? input.close()
      Thread.detachNewThread { [identifier] in _ = Self.wait(for: identifier) }
    }
  }
#endif
