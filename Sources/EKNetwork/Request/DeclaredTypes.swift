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
  associatedtype _MethodName = String
  associatedtype _Headers = [String: String]?
  associatedtype _HeaderFields = HeaderFieldList?
  associatedtype _QueryParameters = [String: String]?
  associatedtype _OrderedQuery = [URLQueryItem]?
  associatedtype _TargetURL = URL?
  associatedtype _Credential = PasswordCredential?
  associatedtype _ContentType = String
  associatedtype _Body = RequestBody?
  associatedtype _MultipartData = MultipartFormData?
  associatedtype _Progress = NetworkProgress?
  associatedtype _RetryPolicy = RetryPolicy
  associatedtype _AcceptedStatuses = StatusCodes
  associatedtype _ErrorDecoder = ((Data) -> Error?)?
  associatedtype _AllowsRetry = Bool
  associatedtype _JsonDecoder = JSONDecoder
  associatedtype _JsonEncoder = JSONEncoder
  associatedtype _Timeout = Duration?
  associatedtype _TotalTimeout = Duration?
  associatedtype _RedirectPolicy = RedirectPolicy
  associatedtype _IsIdempotent = Bool
  associatedtype _CacheMode = CacheMode
  associatedtype _MaximumResponseSize = Int64?
  associatedtype _MaximumInflation = Int?

  var methodName: _MethodName { get }
  var headers: _Headers { get }
  var headerFields: _HeaderFields { get }
  var queryParameters: _QueryParameters { get }
  var orderedQuery: _OrderedQuery { get }
  var targetURL: _TargetURL { get }
  var credential: _Credential { get }
  var contentType: _ContentType { get }
  var body: _Body { get }
  var multipartData: _MultipartData { get }
  var progress: _Progress { get }
  var retryPolicy: _RetryPolicy { get }
  var acceptedStatuses: _AcceptedStatuses { get }
  var errorDecoder: _ErrorDecoder { get }
  var allowsRetry: _AllowsRetry { get }
  var jsonDecoder: _JsonDecoder { get }
  var jsonEncoder: _JsonEncoder { get }
  var timeout: _Timeout { get }
  var totalTimeout: _TotalTimeout { get }
  var redirectPolicy: _RedirectPolicy { get }
  var isIdempotent: _IsIdempotent { get }
  var cacheMode: _CacheMode { get }
  var maximumResponseSize: _MaximumResponseSize { get }
  var maximumInflation: _MaximumInflation { get }

  static func _methodNameIsUsed()
  static func _headersIsUsed()
  static func _headerFieldsIsUsed()
  static func _queryParametersIsUsed()
  static func _orderedQueryIsUsed()
  static func _targetURLIsUsed()
  static func _credentialIsUsed()
  static func _contentTypeIsUsed()
  static func _bodyIsUsed()
  static func _multipartDataIsUsed()
  static func _progressIsUsed()
  static func _retryPolicyIsUsed()
  static func _acceptedStatusesIsUsed()
  static func _errorDecoderIsUsed()
  static func _allowsRetryIsUsed()
  static func _jsonDecoderIsUsed()
  static func _jsonEncoderIsUsed()
  static func _timeoutIsUsed()
  static func _totalTimeoutIsUsed()
  static func _redirectPolicyIsUsed()
  static func _isIdempotentIsUsed()
  static func _cacheModeIsUsed()
  static func _maximumResponseSizeIsUsed()
  static func _maximumInflationIsUsed()
}

extension NetworkRequest {
  @available(*, deprecated, message: "'methodName' is not used: declare it as 'String'")
  public static func _methodNameIsUsed() {}
  public static func _methodNameIsUsed() where _MethodName == String {}
  @available(*, deprecated, message: "'headers' is not used: declare it as '[String: String]?'")
  public static func _headersIsUsed() {}
  public static func _headersIsUsed() where _Headers == [String: String]? {}
  @available(*, deprecated, message: "'headerFields' is not used: declare it as 'HeaderFieldList?'")
  public static func _headerFieldsIsUsed() {}
  public static func _headerFieldsIsUsed() where _HeaderFields == HeaderFieldList? {}
  @available(*, deprecated, message: "'queryParameters' is not used: declare it as '[String: String]?'")
  public static func _queryParametersIsUsed() {}
  public static func _queryParametersIsUsed() where _QueryParameters == [String: String]? {}
  @available(*, deprecated, message: "'orderedQuery' is not used: declare it as '[URLQueryItem]?'")
  public static func _orderedQueryIsUsed() {}
  public static func _orderedQueryIsUsed() where _OrderedQuery == [URLQueryItem]? {}
  @available(*, deprecated, message: "'targetURL' is not used: declare it as 'URL?'")
  public static func _targetURLIsUsed() {}
  public static func _targetURLIsUsed() where _TargetURL == URL? {}
  @available(*, deprecated, message: "'credential' is not used: declare it as 'PasswordCredential?'")
  public static func _credentialIsUsed() {}
  public static func _credentialIsUsed() where _Credential == PasswordCredential? {}
  @available(*, deprecated, message: "'contentType' is not used: declare it as 'String'")
  public static func _contentTypeIsUsed() {}
  public static func _contentTypeIsUsed() where _ContentType == String {}
  @available(*, deprecated, message: "'body' is not used: declare it as 'RequestBody?'")
  public static func _bodyIsUsed() {}
  public static func _bodyIsUsed() where _Body == RequestBody? {}
  @available(*, deprecated, message: "'multipartData' is not used: declare it as 'MultipartFormData?'")
  public static func _multipartDataIsUsed() {}
  public static func _multipartDataIsUsed() where _MultipartData == MultipartFormData? {}
  @available(*, deprecated, message: "'progress' is not used: declare it as 'NetworkProgress?'")
  public static func _progressIsUsed() {}
  public static func _progressIsUsed() where _Progress == NetworkProgress? {}
  @available(*, deprecated, message: "'retryPolicy' is not used: declare it as 'RetryPolicy'")
  public static func _retryPolicyIsUsed() {}
  public static func _retryPolicyIsUsed() where _RetryPolicy == RetryPolicy {}
  @available(*, deprecated, message: "'acceptedStatuses' is not used: declare it as 'StatusCodes'")
  public static func _acceptedStatusesIsUsed() {}
  public static func _acceptedStatusesIsUsed() where _AcceptedStatuses == StatusCodes {}
  @available(*, deprecated, message: "'errorDecoder' is not used: declare it as '((Data) -> Error?)?'")
  public static func _errorDecoderIsUsed() {}
  public static func _errorDecoderIsUsed() where _ErrorDecoder == ((Data) -> Error?)? {}
  @available(*, deprecated, message: "'allowsRetry' is not used: declare it as 'Bool'")
  public static func _allowsRetryIsUsed() {}
  public static func _allowsRetryIsUsed() where _AllowsRetry == Bool {}
  @available(*, deprecated, message: "'jsonDecoder' is not used: declare it as 'JSONDecoder'")
  public static func _jsonDecoderIsUsed() {}
  public static func _jsonDecoderIsUsed() where _JsonDecoder == JSONDecoder {}
  @available(*, deprecated, message: "'jsonEncoder' is not used: declare it as 'JSONEncoder'")
  public static func _jsonEncoderIsUsed() {}
  public static func _jsonEncoderIsUsed() where _JsonEncoder == JSONEncoder {}
  @available(*, deprecated, message: "'timeout' is not used: declare it as 'Duration?'")
  public static func _timeoutIsUsed() {}
  public static func _timeoutIsUsed() where _Timeout == Duration? {}
  @available(*, deprecated, message: "'totalTimeout' is not used: declare it as 'Duration?'")
  public static func _totalTimeoutIsUsed() {}
  public static func _totalTimeoutIsUsed() where _TotalTimeout == Duration? {}
  @available(*, deprecated, message: "'redirectPolicy' is not used: declare it as 'RedirectPolicy'")
  public static func _redirectPolicyIsUsed() {}
  public static func _redirectPolicyIsUsed() where _RedirectPolicy == RedirectPolicy {}
  @available(*, deprecated, message: "'isIdempotent' is not used: declare it as 'Bool'")
  public static func _isIdempotentIsUsed() {}
  public static func _isIdempotentIsUsed() where _IsIdempotent == Bool {}
  @available(*, deprecated, message: "'cacheMode' is not used: declare it as 'CacheMode'")
  public static func _cacheModeIsUsed() {}
  public static func _cacheModeIsUsed() where _CacheMode == CacheMode {}
  @available(*, deprecated, message: "'maximumResponseSize' is not used: declare it as 'Int64?'")
  public static func _maximumResponseSizeIsUsed() {}
  public static func _maximumResponseSizeIsUsed() where _MaximumResponseSize == Int64? {}
  @available(*, deprecated, message: "'maximumInflation' is not used: declare it as 'Int?'")
  public static func _maximumInflationIsUsed() {}
  public static func _maximumInflationIsUsed() where _MaximumInflation == Int? {}
}
