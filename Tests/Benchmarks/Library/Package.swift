// swift-tools-version: 6.2
import PackageDescription

// Beside the other benchmarks, because it is built with `-enable-testing`: `SocketLoad` looks inside the library.
let package = Package(
  name: "LibraryBenchmarks",
  platforms: [.macOS(.v13)],
  dependencies: [.package(name: "EKNetwork", path: "../../..")],
  targets: [
    .executableTarget(name: "SocketLoad", dependencies: [.product(name: "EKNetwork", package: "EKNetwork")]),
    .executableTarget(name: "Instructions", dependencies: [.product(name: "EKNetwork", package: "EKNetwork")]),
  ],
  swiftLanguageModes: [.v6]
)
