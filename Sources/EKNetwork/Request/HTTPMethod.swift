/// The request methods of RFC 9110 §9 and RFC 5789 that a ``NetworkRequest`` can name.
public enum HTTPMethod: String, CaseIterable, Sendable {
  case get = "GET"
  case post = "POST"
  case put = "PUT"
  case delete = "DELETE"
  case patch = "PATCH"
  case head = "HEAD"
  case options = "OPTIONS"
  case trace = "TRACE"
  case connect = "CONNECT"
}
