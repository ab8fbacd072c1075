import EKNetwork

@MainActor final class ProfileModel {
  var token: String? = "t"
  var profile: Profile?
  var album: Album?
  let manager: NetworkManager
  let abstraction: any NetworkManaging
  let streaming: any NetworkStreaming

  init(manager: NetworkManager, abstraction: any NetworkManaging, streaming: any NetworkStreaming) {
    self.manager = manager
    self.abstraction = abstraction
    self.streaming = streaming
  }

  /// The server's URL, a setting isolated to the main actor.
  static var base = URL(fileURLWithPath: "/")
  static func managerOfSettings() -> NetworkManager { NetworkManager(baseURL: { base }) }

  convenience init(manager: NetworkManager) {
    self.init(manager: manager, abstraction: manager, streaming: manager)
  }

  func load() async throws {
    profile = try await manager.send(GetProfile(), accessToken: { self.token })
    profile = try await abstraction.send(GetProfile(), accessToken: { self.token })
    profile = try await manager.send(GetProfile())
    profile = try await abstraction.send(GetProfile())
    profile = try await manager.send(GetProfile(), accessToken: nil)
    profile = try await manager.send(Plain(path: "/me"), accessToken: { [weak self] in self?.token })
    album = try await manager.send(GetAlbum(), accessToken: { self.token })
    album = try await abstraction.send(GetAlbum(), accessToken: { self.token })
    _ = try await manager.send(GetText())
    try await manager.send(Fetch<EmptyResponse>(path: "/me"))
    _ = try await manager.send(GetStatus())
  }

  /// Results that may be left unused, and requests without a type.
  func loadBriefly() async throws {
    try await manager.send(DeleteProfile())
    try await manager.send(DeleteProfile(), accessToken: { self.token })
    try await manager.send(UpdateProfile(name: "A"))
    try await abstraction.send(DeleteProfile())
    profile = try await manager.send(.profile(1))
    try await manager.send(.order("A"), accessToken: { self.token })
    profile = try await manager.get("me", as: Profile.self, accessToken: { self.token })
    profile = try await manager.get("me")
    album = try await manager.get("album", query: ["page": "1"], as: Album.self) { self.token }
    try await manager.post("orders", json: ["name": "A", "count": 2, "tags": ["a", nil]])
    try await manager.put("me", json: UpdateProfile.Draft(name: "A"), headers: ["If-Match": "*"])
    let receipt = try await manager.patch("orders/1", json: ["name": "B"], as: Receipt.self)
    try await manager.delete("orders/\(receipt.id)", accessToken: { self.token })
    let page = try await manager.decodedResponse(to: GetProfile(), accessToken: { self.token })
    profile = page.value
    token = page.link("next")?.absoluteString
  }

  func loadReference() async throws {
    let request = ReferenceRequest()
    _ = try await manager.send(request, accessToken: { self.token })
    request.attempts += 1
    _ = try await abstraction.send(request, accessToken: { self.token })
    request.attempts += 1
  }

  func loadSideBySide() async throws {
    async let first = manager.send(GetStatus())
    async let second = manager.send(GetStatus())
    _ = try await (first, second)
    Task { profile = try await manager.send(GetProfile(), accessToken: { self.token }) }
  }

  func save() async throws {
    let progress = NetworkProgress()
    let display = Task { for await fraction in progress.$fractionCompleted.values { token = "\(fraction)" } }
    defer { display.cancel() }
    do {
      _ = try await manager.send(UpdateProfile(name: "A", progress: progress), accessToken: { self.token })
    } catch let refusal as UpdateProfile.Refusal {
      token = refusal.reason
    } catch let error as HTTPError where error.statusCode == 412 {
      token = nil
    }
  }

  func listen() async throws {
    let response = try await streaming.stream(GetProfile(), accessToken: { self.token })
    for try await line in response.lines() { token = line }
    for try await event in manager.events(GetProfile(), accessToken: { self.token }) { token = event.data }
  }

  func configure() {
    manager.tokenRefresher = MainActorTokens()
    manager.userAgentConfiguration = UserAgentConfiguration(appName: "App")
    manager.responseDecoderProvider = { JSONDecoder() }
    manager.logHandler = { print($0.message) }
  }
}

/// A token store that is an actor.
actor TokenVault {
  var token: String?
  func valid() async throws -> String { token ?? "t" }
}

extension ProfileModel {
  func load(with vault: TokenVault) async throws {
    profile = try await manager.send(GetProfile(), accessToken: { await vault.token })
    profile = try await manager.send(Plain(path: "/me")) { try await vault.valid() }
    album = try await manager.send(GetAlbum(), accessToken: { await vault.token })
    let response = try await manager.response(to: GetProfile(), accessToken: { await vault.token })
    token = response.value(forHTTPHeaderField: "ETag")
    let stream = try await manager.stream(GetProfile(), accessToken: { await vault.token })
    for try await line in stream.lines() { token = line }
    for try await event in manager.events(GetProfile(), accessToken: { await vault.token }) { token = event.data }
    _ = PrismQueueDelivery.manager(manager, accessToken: { await vault.token })
    _ = PrismQueueDelivery.manager(manager, accessToken: { "t" })
    _ = PrismQueueDelivery.manager(manager)
    token = try manager.curlCommand(for: GetProfile(), accessToken: { self.token })
  }
}

struct Repository<Manager: NetworkManaging> {
  let manager: Manager
  func profile(token: String?) async throws -> Profile {
    try await manager.send(GetProfile(), accessToken: { token })
  }
  func load<T: NetworkRequest>(_ request: T) async throws -> T.Response {
    try await manager.send(request, accessToken: nil)
  }
}

func load<T: NetworkRequest>(_ request: T, with manager: NetworkManager) async throws -> T.Response {
  try await manager.send(request, accessToken: nil)
}

func manager(base: URL, session: URLSession) -> NetworkManager {
  NetworkManager(baseURL: { base }, session: session, transport: .urlSession)
}

actor Worker {
  let manager: NetworkManager
  var token: String?

  init(manager: NetworkManager) { self.manager = manager }

  func status() async throws -> Bool { try await manager.send(GetStatus(), accessToken: { self.token }).isUp }

  func watch() async throws {
    for try await event in manager.events(GetStatus(), accessToken: { self.token }) { token = event.data }
  }

  // In a module isolated to the main actor by default, another actor cannot use its conformances.
  #if !MAIN_ACTOR_BY_DEFAULT
    func work() async throws -> Profile { try await manager.send(GetProfile(), accessToken: { self.token }) }
    func workWithReference() async throws {
      let request = ReferenceRequest()
      _ = try await manager.send(request, accessToken: { self.token })
      request.attempts += 1
    }
  #endif
}

nonisolated func loadManyAtOnce(_ manager: NetworkManager) async throws -> [Bool] {
  try await withThrowingTaskGroup(of: Bool.self) { group in
    for _ in 0..<10 { group.addTask { try await manager.send(GetStatus()).isUp } }
    return try await group.reduce(into: []) { $0.append($1) }
  }
}

/// Checks that `data(for:)` of a session is Foundation's, despite its conformances in this library.
func foundationsOwn(_ request: URLRequest) async throws {
  let load: (URLRequest, (any URLSessionTaskDelegate)?) async throws -> (Data, URLResponse) = {
    try await URLSession.shared.data(for: $0, delegate: $1)
  }
  _ = try await load(request, nil)
  _ = try await URLSession.shared.data(for: request)
}
