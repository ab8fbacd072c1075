#ifndef EKN_SESSION_H
#define EKN_SESSION_H

#if defined(__APPLE__)
#import <Foundation/Foundation.h>
#include <stdbool.h>

NS_ASSUME_NONNULL_BEGIN

/// Returns a task for the request, or `nil` if Foundation raises an exception because the session was invalidated.
NSURLSessionDataTask *_Nullable ekn_data_task(NSURLSession *session, NSURLRequest *request);

/// Returns a task of a background session: an upload of the file, or a download without one; `nil` if Foundation raises an
/// exception.
NSURLSessionTask *_Nullable ekn_transfer_task(NSURLSession *session, NSURLRequest *request, NSURL *_Nullable file);

/// Returns a task that continues a download; `nil` if Foundation raises an exception.
NSURLSessionTask *_Nullable ekn_resumed_task(NSURLSession *session, NSData *resumeData);

/// Returns whether the session's delegate receives the challenges of its connections, or of its tasks.
bool ekn_receives_challenges(NSURLSession *session);

NS_ASSUME_NONNULL_END
#endif

#endif
