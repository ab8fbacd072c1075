import Foundation

/// What the requests of a client have in common, unless a request says otherwise.
///
/// ```swift
/// var defaults = RequestDefaults()
/// defaults.headers = ["Accept-Language": "de"]
/// defaults.timeout = .seconds(10)
/// defaults.retryPolicy = .transientFailures
/// let manager = NetworkManager(baseURL: url, defaults: defaults)
/// ```
///
/// A property that a request declares is used in place of the default, whatever its value: a `timeout` of `nil` is none.
/// What is `nil` here is as ``NetworkRequest`` documents it. Endpoints of the adapter, GraphQL and sockets have options of their
/// own.
///
/// Sendable, unchecked: the `shouldRetry` of ``retryPolicy`` is not `@Sendable`. It is called on the actors of all who send, and
/// must allow that.
public struct RequestDefaults: @unchecked Sendable {
  /// Header fields. Those of a request come first, and the access token comes before an `Authorization`. They are meant for
  /// the origin of the base URL: a request whose ``NetworkRequest/targetURL`` has another one is sent without them. The type
  /// and the length of a body belong to the request: with them, sending throws an ``InvalidHeaderError``.
  public var headers: [String: String]?
  /// The default of ``NetworkRequest/timeout``.
  public var timeout: Duration?
  /// The default of ``NetworkRequest/totalTimeout``, but not for subscriptions to events and queued requests.
  public var totalTimeout: Duration?
  /// The default of ``NetworkRequest/retryPolicy``.
  public var retryPolicy: RetryPolicy?
  /// The default of ``NetworkRequest/redirectPolicy``.
  public var redirectPolicy: RedirectPolicy?
  /// The default of ``NetworkRequest/acceptedStatuses``.
  public var acceptedStatuses: StatusCodes?
  /// The default of ``NetworkRequest/errorDecoder``. It may be called on any thread.
  public var errorDecoder: (@Sendable (Data) -> Error?)?
  /// The default of ``NetworkRequest/responseErrorDecoder``. It may be called on any thread.
  public var responseErrorDecoder: (@Sendable (NetworkResponse) -> Error?)?
  /// The default of ``NetworkRequest/jsonEncoder``, shared by all requests.
  public var jsonEncoder: JSONEncoder?
  /// The default of ``NetworkRequest/jsonDecoder``, shared by all requests. Unlike `responseDecoderProvider`, it does not
  /// replace a decoder that a request declares.
  public var jsonDecoder: JSONDecoder?
  /// The default of ``NetworkRequest/maximumResponseSize``, but not for subscriptions to events and queued requests.
  public var maximumResponseSize: Int64?

  /// Creates defaults that change nothing.
  public init() {}

  fileprivate var areEmpty: Bool {
    headers == nil && timeout == nil && totalTimeout == nil && retryPolicy == nil && redirectPolicy == nil
      && acceptedStatuses == nil && errorDecoder == nil && responseErrorDecoder == nil && jsonEncoder == nil
      && jsonDecoder == nil && maximumResponseSize == nil
  }
}

extension RequestDefaults: Redacted {
  var redacted: String { "RequestDefaults(headers: \((headers ?? [:]).keys.sorted()))" }
}

/// The defaults of a client, where the properties that a request does not declare find them.
///
/// Whether a type declares a property cannot be queried. But what it does not declare is read by the protocol's own
/// implementation, which can ask who reads.
final class ClientDefaults: Sendable {
  let values: RequestDefaults
  /// Their header fields, the values of names that differ only in case joined.
  let headers: HeaderFieldList?

  init?(_ values: RequestDefaults) {
    guard !values.areEmpty else { return nil }
    self.values = values
    headers = values.headers.map { HeaderFieldList(fields: HeaderFields.joined($0)) }
  }

  /// Those of the client that is reading a request on this thread. Reading is synchronous.
  fileprivate static let reader = ThreadSlot<ClientDefaults>()

  /// The defaults of the client that is reading a request; `nil` for a client without, and for everyone else.
  static var current: RequestDefaults? { reader.value?.values }
}

extension ClientDefaults? {
  @inline(__always)
  func reading<Value>(_ read: () throws -> Value) rethrows -> Value {
    // Inside a reading, a client without defaults must not find those of another: a decoder may send a request, and wait.
    if self == nil, ClientDefaults.reader.value == nil { return try read() }
    return try ClientDefaults.reader.withValue(self, read)
  }
}

/// A value that the current thread has during a call, for code that cannot be passed one: a task-local value without the
/// search for it, and one that tasks do not inherit.
struct ThreadSlot<Value: AnyObject & Sendable>: Sendable {
  private let key: pthread_key_t?
  /// The values by thread, without a key.
  private let values = Locked<[ObjectIdentifier: Value]>([:])

  /// - Parameter key: Creates the key: a process has only so many.
  init(key: () -> pthread_key_t? = ThreadSlot.newKey) { self.key = key() }

  static func newKey() -> pthread_key_t? {
    var key = pthread_key_t()
    return pthread_key_create(&key, nil) == 0 ? key : nil
  }

  var value: Value? {
    guard let key else { return values.withLock { $0[ObjectIdentifier(Thread.current)] } }
    return pthread_getspecific(key).map { Unmanaged<Value>.fromOpaque($0).takeUnretainedValue() }
  }

  /// Calls a function while the thread has a value, which lives as long as that.
  func withValue<Result>(_ value: Value?, _ call: () throws -> Result) rethrows -> Result {
    let outer = self.value
    set(value)
    defer {
      set(outer)
      withExtendedLifetime(value) {}
    }
    return try call()
  }

  private func set(_ value: Value?) {
    if let key {
      pthread_setspecific(key, value.map { UnsafeRawPointer(Unmanaged.passUnretained($0).toOpaque()) })
    } else {
      values.withLock { $0[ObjectIdentifier(Thread.current)] = value }
    }
  }
}
