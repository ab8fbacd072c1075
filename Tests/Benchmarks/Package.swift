// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that users of the library never see what it is measured against.
let package = Package(
  name: "Benchmarks",
  platforms: [.macOS(.v13)],
  dependencies: [
    .package(name: "EKNetwork", path: "../.."),
    .package(url: "https://github.com/swift-server/async-http-client.git", from: "1.37.0"),
  ],
  targets: [
    .executableTarget(
      name: "Load",
      dependencies: [
        .product(name: "EKNetwork", package: "EKNetwork"),
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
      ]),
    // The library's own C prototypes, without the library.
    .target(name: "BareZlib"),
    .target(name: "BareCurl", dependencies: ["BareZlib"]),
    .executableTarget(name: "BareLoad", dependencies: ["BareCurl"]),
  ],
  swiftLanguageModes: [.v6]
)
