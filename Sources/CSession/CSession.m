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
#endif
