// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "ClientAsyncHTTPClient",
  platforms: [.macOS(.v13)],
  dependencies: [
    .package(url: "https://github.com/swift-server/async-http-client.git", from: "1.37.0")
  ],
  targets: [
    .executableTarget(name: "Client", dependencies: [.product(name: "AsyncHTTPClient", package: "async-http-client")])
  ],
  swiftLanguageModes: [.v6]
)
