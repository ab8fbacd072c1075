// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "ClientEKNetwork",
  platforms: [.macOS(.v13)],
  dependencies: [
    .package(name: "EKNetwork", path: "../../../..")
  ],
  targets: [
    .executableTarget(name: "Client", dependencies: [.product(name: "EKNetwork", package: "EKNetwork")])
  ],
  swiftLanguageModes: [.v6]
)
