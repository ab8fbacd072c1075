// swift-tools-version: 6.2
import PackageDescription

// Separate from the other benchmarks because `SocketLoad` uses internals of the library, built with `-enable-testing`.
let package = Package(
  name: "LibraryBenchmarks",
  platforms: [.macOS(.v13)],
  dependencies: [.package(name: "EKNetwork", path: "../../..")],
  targets: [
    .executableTarget(name: "SocketLoad", dependencies: [.product(name: "EKNetwork", package: "EKNetwork")])
  ],
  swiftLanguageModes: [.v6]
)
