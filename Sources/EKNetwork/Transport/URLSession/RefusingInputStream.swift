#if !canImport(Darwin)
  import Foundation

  /// A stream that fails when it is read, which fails the request: `nil` would send an empty body.
  final class RefusingInputStream: InputStream {
    private var status = Status.notOpen

    init() { super.init(data: Data()) }

    override var streamStatus: Status { status }
    override var streamError: (any Error)? { URLError(.requestBodyStreamExhausted) }
    override var hasBytesAvailable: Bool { true }

    override func open() { status = .open }
    override func close() { status = .closed }
    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength len: Int) -> Int { -1 }
    override func getBuffer(
      _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, length len: UnsafeMutablePointer<Int>
    ) -> Bool { false }
  }
#endif
