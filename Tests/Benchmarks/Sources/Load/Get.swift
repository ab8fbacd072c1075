import EKNetwork

/// The request of all measurements except the soak. Streams and downloads ignore its response type.
struct Get: NetworkRequest {
  typealias Response = Item
  let path: String
  let method = HTTPMethod.get
}
