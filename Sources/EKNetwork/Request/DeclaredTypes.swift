// The protocol documents them.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

import Foundation

/// The types that a request declares for its properties.
///
/// A property of another type than ``NetworkRequest`` requires, such as `var timeout: TimeInterval`, is a property of its own,
/// and the default is used in its place. Swift says so only where a conformance stands in an extension. Here the type of the
/// property is inferred, whatever it is; unless it is the required one, a default that is marked as deprecated is used, and
/// the compiler warns with its message.
public protocol _DeclaredTypes {
  associatedtype _Headers = [String: String]?
  associatedtype _QueryParameters = [String: String]?
  associatedtype _Body = RequestBody?
  associatedtype _MultipartData = MultipartFormData?
  associatedtype _RetryPolicy = RetryPolicy
  associatedtype _ErrorDecoder = ((Data) -> Error?)?
  associatedtype _Timeout = Duration?

  var headers: _Headers { get }
  var queryParameters: _QueryParameters { get }
  var body: _Body { get }
  var multipartData: _MultipartData { get }
  var retryPolicy: _RetryPolicy { get }
  var errorDecoder: _ErrorDecoder { get }
  var timeout: _Timeout { get }

  static var _headersIsUsed: Void { get }
  static var _queryParametersIsUsed: Void { get }
  static var _bodyIsUsed: Void { get }
  static var _multipartDataIsUsed: Void { get }
  static var _retryPolicyIsUsed: Void { get }
  static var _errorDecoderIsUsed: Void { get }
  static var _timeoutIsUsed: Void { get }
}

extension NetworkRequest {
  @available(*, deprecated, message: "'headers' is not used: declare it as '[String: String]?'")
  public static var _headersIsUsed: Void { () }
  @available(*, deprecated, message: "'queryParameters' is not used: declare it as '[String: String]?'")
  public static var _queryParametersIsUsed: Void { () }
  @available(*, deprecated, message: "'body' is not used: declare it as 'RequestBody?'")
  public static var _bodyIsUsed: Void { () }
  @available(*, deprecated, message: "'multipartData' is not used: declare it as 'MultipartFormData?'")
  public static var _multipartDataIsUsed: Void { () }
  @available(*, deprecated, message: "'retryPolicy' is not used: declare it as 'RetryPolicy'")
  public static var _retryPolicyIsUsed: Void { () }
  @available(*, deprecated, message: "'errorDecoder' is not used: declare it as '((Data) -> Error?)?'")
  public static var _errorDecoderIsUsed: Void { () }
  @available(*, deprecated, message: "'timeout' is not used: declare it as 'Duration?'")
  public static var _timeoutIsUsed: Void { () }
}

extension NetworkRequest where _Headers == [String: String]? {
  public static var _headersIsUsed: Void { () }
}

extension NetworkRequest where _QueryParameters == [String: String]? {
  public static var _queryParametersIsUsed: Void { () }
}

extension NetworkRequest where _Body == RequestBody? {
  public static var _bodyIsUsed: Void { () }
}

extension NetworkRequest where _MultipartData == MultipartFormData? {
  public static var _multipartDataIsUsed: Void { () }
}

extension NetworkRequest where _RetryPolicy == RetryPolicy {
  public static var _retryPolicyIsUsed: Void { () }
}

extension NetworkRequest where _ErrorDecoder == ((Data) -> Error?)? {
  public static var _errorDecoderIsUsed: Void { () }
}

extension NetworkRequest where _Timeout == Duration? {
  public static var _timeoutIsUsed: Void { () }
}
