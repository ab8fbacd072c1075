// swift-tools-version: 6.2
import PackageDescription

// A separate package, because the library depends on none of these. Its files are the code of the articles.
let package = Package(
  name: "Recipes",
  platforms: [.macOS(.v14)],
  dependencies: [
    .package(name: "EKNetwork", path: "../.."),
    .package(url: "https://github.com/apple/swift-http-types.git", from: "1.3.0"),
    .package(url: "https://github.com/apple/swift-log.git", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-metrics.git", from: "2.7.0"),
    .package(url: "https://github.com/apple/swift-distributed-tracing.git", from: "1.2.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.8.0"),
    .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.17.0", traits: []),
    .package(url: "https://github.com/apple/swift-crypto.git", "3.12.0"..<"5.0.0"),
  ],
  targets: [
    // Declarations in place of two packages that the adapters are for, and that are not available.
    .target(name: "MCP", dependencies: [.product(name: "Logging", package: "swift-log")], path: "Stubs/MCP"),
    .target(
      name: "OpenAPIRuntime", dependencies: [.product(name: "HTTPTypes", package: "swift-http-types")],
      path: "Stubs/OpenAPIRuntime"),
    .target(
      name: "Recipes",
      dependencies: [
        "EKNetwork", "MCP", "OpenAPIRuntime",
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "Metrics", package: "swift-metrics"),
        .product(name: "Tracing", package: "swift-distributed-tracing"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "Crypto", package: "swift-crypto"),
      ],
      swiftSettings: [.treatAllWarnings(as: .error)]
        + (Context.environment["RECIPES_ON_MAIN_ACTOR"] == nil ? [] : [.defaultIsolation(MainActor.self)])),
    .testTarget(
      name: "RecipesTests",
      dependencies: [
        "MCP", "OpenAPIRuntime", "Recipes",
        .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
        .product(name: "MetricsTestKit", package: "swift-metrics"),
        .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
