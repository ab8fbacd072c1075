#if os(Linux)
  import CCurl
  import Foundation
  import LoopbackServer
  import Testing

  @testable import EKNetwork

  @Suite struct ConnectionSocketsTests {
    @Test func socketsWithOnePortAreToldApartByTheirPeers() {
      var sockets = ConnectionSockets()
      sockets.add(3, port: 50_000)
      sockets.add(4, port: 50_001)
      func socket(_ port: Int, peer: Int32?) -> Int32? { sockets.socket(port: port) { $0 == peer } }
      // The peer is only asked for where it matters.
      #expect(socket(50_000, peer: nil) == 3)
      #expect(socket(50_001, peer: nil) == 4)
      #expect(socket(50_002, peer: nil) == nil)
      sockets.add(5, port: 50_000)
      #expect(socket(50_000, peer: 3) == 3)
      #expect(socket(50_000, peer: 5) == 5)
      #expect(socket(50_000, peer: 4) == nil)
      sockets.remove(3)
      sockets.remove(3)
      #expect(!sockets.contains(3))
      #expect(socket(50_000, peer: nil) == 5)
      // The system reuses descriptors.
      sockets.add(5, port: 50_001)
      #expect(socket(50_000, peer: 5) == nil)
      #expect(socket(50_001, peer: 5) == 5)
    }

    private struct SystemCallError: Error {}

    /// Returns a socket that is connected to a loopback port.
    private func connect(to port: Int, from localPort: Int = 0, type: __socket_type = SOCK_STREAM) throws -> Int32 {
      let descriptor = socket(AF_INET, Int32(type.rawValue), 0)
      var yes: Int32 = 1
      setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
      func call(_ port: Int, _ function: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32) throws {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) {
          $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            function(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
          }
        }
        guard result == 0 else { throw SystemCallError() }
      }
      try call(localPort) { bind($0, $1, $2) }
      try call(port) { Glibc.connect($0, $1, $2) }
      return descriptor
    }

    /// libcurl does not report the end of a resolver's socket, whose descriptor a connection may get.
    @Test func resolversSocketIsNoConnection() throws {
      let resolver = try connect(to: 53, type: SOCK_DGRAM)
      defer { close(resolver) }
      #expect(ekn_socket_local_port(resolver) == 0)
      #expect(ekn_socket_local_port(-1) == 0)
    }

    @Test func connectionsFromOnePortHaveDifferentPeers() throws {
      let servers = try [LoopbackServer(), LoopbackServer()]
      defer { for server in servers { server.stop() } }
      let first = try connect(to: servers[0].port)
      defer { close(first) }
      let second = try connect(to: servers[1].port, from: Int(ekn_socket_local_port(first)))
      defer { close(second) }
      #expect(ekn_socket_local_port(first) == ekn_socket_local_port(second))
      var sockets = ConnectionSockets()
      let port = Int(ekn_socket_local_port(first))
      for socket in [first, second] { sockets.add(socket, port: port) }
      for (server, expected) in zip(servers, [first, second]) {
        let found = sockets.socket(port: port) { ekn_socket_has_peer($0, "127.0.0.1", Int32(server.port)) }
        #expect(found == expected)
      }
      #expect(!ekn_socket_has_peer(first, "127.0.0.2", Int32(servers[0].port)))
      #expect(!ekn_socket_has_peer(first, "::1", Int32(servers[0].port)))
      #expect(!ekn_socket_has_peer(first, "", Int32(servers[0].port)))
      #expect(!ekn_socket_has_peer(first, nil, Int32(servers[0].port)))
    }
  }
#endif
