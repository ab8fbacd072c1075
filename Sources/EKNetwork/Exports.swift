// A file that says `import EKNetwork` compiles the documented code on every platform: the URL loading types
// (`URL`, `URLRequest`, `URLSession`, `HTTPURLResponse`) come along, and no `#if` is needed in the user's code.
@_exported import Foundation

#if canImport(FoundationNetworking)
  @_exported import FoundationNetworking
#endif
