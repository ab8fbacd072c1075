#if os(Linux)
  import Foundation
  import LoopbackServer

  /// Name lookups that take as long as a test wants, in a separate process: a preloaded library replaces `getaddrinfo`.
  enum HangingResolver {
    /// The suffix of names that hang. Each test has its own name: newer versions of libcurl cache failed lookups.
    static let host = "hangs.invalid"

    private static let source = """
      #define _GNU_SOURCE
      #include <dlfcn.h>
      #include <netdb.h>
      #include <semaphore.h>
      #include <string.h>
      static sem_t begun, released;
      __attribute__((constructor)) static void prepare(void) { sem_init(&begun, 0, 0); sem_init(&released, 0, 0); }
      void hanging_resolver_wait(void) { sem_wait(&begun); }
      void hanging_resolver_release(void) { for (int i = 0; i < 100; i++) sem_post(&released); }
      void hanging_resolver_reset(void) { while (!sem_trywait(&begun)) {} while (!sem_trywait(&released)) {} }
      int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **result) {
        int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **) =
          dlsym(RTLD_NEXT, "getaddrinfo");
        size_t length = host ? strlen(host) : 0, suffix = strlen("\(host)");
        if (length < suffix || strcmp(host + length - suffix, "\(host)")) return next(host, service, hints, result);
        sem_post(&begun);
        sem_wait(&released);
        return EAI_NONAME;
      }
      """

    /// Whether there is a C compiler with its headers.
    static let canBeBuilt =
      (try? ChildProcess(
        "clang", ["-fsyntax-only", "-include", "semaphore.h", "-x", "c", "/dev/null"], hidesErrors: true
      ).run()) != nil

    /// Runs tests of this program where lookups hang, and returns their output.
    static func run(filter: String) throws -> String {
      let folder = try ScratchFolder()
      let code = try folder.file("resolver.c", Data(source.utf8))
      let library = folder.url.appendingPathComponent("resolver.so").path
      _ = try ChildProcess("clang", ["-shared", "-fPIC", "-o", library, code.path, "-ldl"]).run()
      let child = try ChildProcess.tests(filter: filter, environment: ["LD_PRELOAD": library])
      defer { child.waitUntilExit() }
      return String(decoding: try child.readToEnd(), as: UTF8.self)
    }

    // MARK: - In that process

    private static func function(_ name: String) -> (@convention(c) () -> Void)? {
      dlsym(nil, name).map { unsafeBitCast($0, to: (@convention(c) () -> Void).self) }
    }

    static let isThere = function("hanging_resolver_wait") != nil

    /// Returns when a lookup has begun.
    static func waitForLookup() async {
      await withCheckedContinuation { continuation in
        Thread.detachNewThread {
          function("hanging_resolver_wait")?()
          continuation.resume()
        }
      }
    }

    /// From now on lookups hang.
    static func reset() { function("hanging_resolver_reset")?() }

    /// Ends the lookups: there is no such name. Newer versions of libcurl make one for each family of addresses.
    static func release() { function("hanging_resolver_release")?() }
  }
#endif
