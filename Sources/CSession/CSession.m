#include "CSession.h"

#if defined(__APPLE__)
// Swift cannot catch the exception that Foundation raises here, and no property tells beforehand.
NSURLSessionDataTask *ekn_data_task(NSURLSession *session, NSURLRequest *request) {
  @try {
    return [session dataTaskWithRequest:request];
  } @catch (NSException *exception) {
    return nil;
  }
}

NSURLSessionTask *ekn_transfer_task(NSURLSession *session, NSURLRequest *request, NSURL *file) {
  @try {
    if (file) return [session uploadTaskWithRequest:request fromFile:file];
    return [session downloadTaskWithRequest:request];
  } @catch (NSException *exception) {
    return nil;
  }
}

NSURLSessionTask *ekn_resumed_task(NSURLSession *session, NSData *resumeData) {
  @try {
    return [session downloadTaskWithResumeData:resumeData];
  } @catch (NSException *exception) {
    return nil;
  }
}

// In Swift, a selector would need the methods that Foundation's protocols give other names there.
bool ekn_receives_challenges(NSURLSession *session) {
  id<NSObject> delegate = session.delegate;
  return [delegate respondsToSelector:@selector(URLSession:didReceiveChallenge:completionHandler:)]
      || [delegate respondsToSelector:@selector(URLSession:task:didReceiveChallenge:completionHandler:)];
}
#endif
