// swift-tools-version: 6.2
import PackageDescription

// Not for the library itself: a protocol that was compiled with it cannot be adopted by a main-actor class, because its
// async requirements count as explicitly nonisolated. There, what stays on the caller's actor says so.
let swiftSettings: [SwiftSetting] = [
  .enableUpcomingFeature("NonisolatedNonsendingByDefault")
]

// Read by Apple's tools alone. Elsewhere a resource would only bring a bundle, and the code that looks for it.
#if os(Linux)
  let notOnLinux: [String] = ["PrivacyInfo.xcprivacy"]
  let resources: [Resource] = []
#else
  let notOnLinux: [String] = []
  let resources: [Resource] = [.process("PrivacyInfo.xcprivacy")]
#endif
let apple: [Platform] = [.macOS, .macCatalyst, .iOS, .tvOS, .watchOS, .visionOS]

let package = Package(
  name: "EKNetwork",
  platforms: [.iOS(.v16), .macOS(.v13), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1)],
  products: [
    .library(name: "EKNetwork", targets: ["EKNetwork"])
  ],
  targets: [
    .target(
      name: "EKNetwork",
      dependencies: [
        .target(name: "CCurl", condition: .when(platforms: [.linux])),
        .target(name: "CSession", condition: .when(platforms: apple)),
        "CZlib",
      ],
      exclude: notOnLinux,
      resources: resources
    ),
    .target(name: "CCurl", dependencies: ["CZlib"]),
    .target(name: "CSession"),
    .target(name: "CZlib"),
    .target(name: "LoopbackServer", swiftSettings: swiftSettings),
    .executableTarget(
      name: "EKNetworkDemo",
      dependencies: ["EKNetwork", "LoopbackServer"],
      swiftSettings: swiftSettings
    ),
    .executableTarget(
      name: "AutobahnClient",
      dependencies: ["EKNetwork"],
      path: "Tests/Autobahn",
      exclude: ["README.md", "run.sh"],
      swiftSettings: swiftSettings
    ),
    .executableTarget(
      name: "CacheConformance",
      dependencies: ["EKNetwork"],
      path: "Tests/CacheConformance",
      exclude: ["README.md", "run.sh"],
      swiftSettings: swiftSettings
    ),
    .executableTarget(
      name: "CacheStress",
      dependencies: ["EKNetwork"],
      path: "Tests/CacheStress",
      exclude: ["README.md", "run.py"],
      swiftSettings: swiftSettings
    ),
    .executableTarget(
      name: "QueueClient",
      dependencies: ["EKNetwork"],
      path: "Tests/OfflineQueue",
      exclude: ["README.md", "kill.py"],
      swiftSettings: swiftSettings
    ),
    .target(name: "TestEnvironment", path: "Tests/TestEnvironment"),
    .testTarget(
      name: "EKNetworkTests",
      dependencies: ["EKNetwork", "LoopbackServer", "TestEnvironment"],
      swiftSettings: swiftSettings
    ),
  ],
  swiftLanguageModes: [.v6]
)
