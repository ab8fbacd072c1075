// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that users of the library never see what it is measured with.
let package = Package(
  name: "Instructions",
  platforms: [.macOS(.v13)],
  dependencies: [.package(name: "EKNetwork", path: "../..")],
  targets: [
    .executableTarget(
      name: "Instructions", dependencies: [.product(name: "EKNetwork", package: "EKNetwork")], path: "Sources")
  ],
  swiftLanguageModes: [.v6]
)
