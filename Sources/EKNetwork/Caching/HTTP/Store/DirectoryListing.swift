import Foundation

/// The names in a directory, without those of itself and of what it lies in.
enum DirectoryListing {
  static func names(in folder: String) -> [String] {
    guard let directory = opendir(folder) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      // The name ends with a zero byte; the entry may be shorter than its type.
      let offset = MemoryLayout<dirent>.offset(of: \.d_name) ?? 0
      let name = String(cString: UnsafeRawPointer(entry).advanced(by: offset).assumingMemoryBound(to: CChar.self))
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }
}
