import Dispatch
import Foundation

@testable import EKNetwork

/// The writing end of a body, over a real socket with limited buffers. Like a stream of Apple's it calls back on the
/// queue once when there is room again.
///
/// Sendable, unchecked: it is handed to its pump, and confined to the pump's queue; nothing else reads the client.
final class ClientSink: BodySink, @unchecked Sendable {
  private let client: RawClient
  private let onClose: @Sendable () -> Void
  private let onFull: @Sendable () -> Void
  private var source: (any DispatchSourceWrite)?
  private var isArmed = false

  init(_ client: RawClient, onFull: @escaping @Sendable () -> Void = {}, onClose: @escaping @Sendable () -> Void) {
    self.client = client
    self.onFull = onFull
    self.onClose = onClose
  }

  deinit {
    // One that is not armed is suspended, and must not be freed so.
    if let source, !isArmed { source.resume() }
    source?.cancel()
  }

  func open(on queue: DispatchQueue, onChange: @escaping @Sendable () -> Void) {
    let source = client.writeSource(queue)
    source.setEventHandler { [weak self] in
      self?.disarm()
      onChange()
    }
    self.source = source
  }

  private func disarm() {
    guard isArmed else { return }
    isArmed = false
    source?.suspend()
  }

  var hasSpace: Bool {
    if client.isWritable { return true }
    if !isArmed {
      isArmed = true
      source?.resume()
    }
    onFull()
    return false
  }

  func write(_ bytes: UnsafeRawBufferPointer) -> Int {
    guard let base = bytes.baseAddress else { return 0 }
    do {
      return try client.writeWithoutBlocking(Data(bytes: base, count: bytes.count))
    } catch {
      return -1
    }
  }

  func close() {
    client.endSending()
    onClose()
  }
}
