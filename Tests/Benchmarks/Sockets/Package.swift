// swift-tools-version: 6.2
import PackageDescription

// Beside the other benchmarks, because it looks inside the library and is built with `-enable-testing`.
let package = Package(
  name: "SocketBenchmarks",
  platforms: [.macOS(.v13)],
  dependencies: [.package(name: "EKNetwork", path: "../../..")],
  targets: [
    .executableTarget(name: "SocketLoad", dependencies: [.product(name: "EKNetwork", package: "EKNetwork")])
  ],
  swiftLanguageModes: [.v6]
)
