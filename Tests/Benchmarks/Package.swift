// swift-tools-version: 6.2
import PackageDescription

// A separate package, so that the library does not depend on the clients it is compared with.
let package = Package(
  name: "Benchmarks",
  platforms: [.macOS(.v13)],
  dependencies: [
    .package(name: "EKNetwork", path: "../.."),
    .package(url: "https://github.com/swift-server/async-http-client.git", from: "1.37.0"),
  ],
  targets: [
    .executableTarget(name: "Instructions", dependencies: [.product(name: "EKNetwork", package: "EKNetwork")]),
    .executableTarget(
      name: "Load",
      dependencies: [
        .product(name: "EKNetwork", package: "EKNetwork"),
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
