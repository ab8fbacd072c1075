// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "ClientURLSession",
  platforms: [.macOS(.v13)],
  targets: [.executableTarget(name: "Client")],
  swiftLanguageModes: [.v6]
)
