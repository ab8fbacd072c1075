// swift-tools-version: 6.2
import PackageDescription

// A separate package, so that the library does not depend on the clients it is compared with.
let package = Package(
  name: "Benchmarks",
  platforms: [.macOS(.v13)],
  dependencies: [
    .package(name: "EKNetwork", path: "../.."),
    .package(url: "https://github.com/swift-server/async-http-client.git", from: "1.37.0"),
    .package(url: "https://github.com/apple/swift-nio.git", from: "2.100.0"),
    .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.30.0"),
  ],
  targets: [
    .executableTarget(name: "Instructions", dependencies: [.product(name: "EKNetwork", package: "EKNetwork")]),
    .executableTarget(
      name: "Load",
      dependencies: [
        .product(name: "EKNetwork", package: "EKNetwork"),
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOWebSocket", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
