// swift-tools-version: 6.2
import PackageDescription

// A minimal program to deploy.
let package = Package(
  name: "Hello",
  platforms: [.macOS(.v13)],
  dependencies: [.package(name: "EKNetwork", path: "../../..")],
  targets: [
    .executableTarget(name: "Hello", dependencies: [.product(name: "EKNetwork", package: "EKNetwork")])
  ],
  swiftLanguageModes: [.v6]
)
