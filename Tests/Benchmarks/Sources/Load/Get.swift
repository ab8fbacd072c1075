import EKNetwork

/// The request of all measurements but the soak. A stream and a download do not look at its response type.
struct Get: NetworkRequest {
  typealias Response = Item
  let path: String
  let method = HTTPMethod.get
}
