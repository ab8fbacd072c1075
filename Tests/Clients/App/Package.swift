// swift-tools-version: 6.2
import PackageDescription

// Apps that depend on the library like any other package.
let package = Package(
  name: "App",
  platforms: [.iOS(.v16), .macOS(.v13), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1)],
  dependencies: [.package(name: "EKNetwork", path: "../../..")],
  targets: [
    .executableTarget(
      name: "Swift5App",
      dependencies: [.product(name: "EKNetwork", package: "EKNetwork")],
      swiftSettings: [.swiftLanguageMode(.v5)]
    ),
    .executableTarget(
      name: "MainActorApp",
      dependencies: [.product(name: "EKNetwork", package: "EKNetwork")],
      swiftSettings: [
        .swiftLanguageMode(.v6), .defaultIsolation(MainActor.self),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
        .enableUpcomingFeature("InferIsolatedConformances"),
      ]
    ),
  ]
)
