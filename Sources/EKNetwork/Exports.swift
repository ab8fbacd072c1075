// A file with `import EKNetwork` compiles the documented code on every platform: the URL loading types (`URL`,
// `URLRequest`, `URLSession`, `HTTPURLResponse`) are re-exported, so that no `#if` is needed in the user's code. The other
// files of the module see as well what this one re-exports.
@_exported import Foundation

#if canImport(FoundationNetworking)
  @_exported import FoundationNetworking
#endif
