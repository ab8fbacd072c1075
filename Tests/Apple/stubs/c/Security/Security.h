#ifndef EK_SECURITY_H
#define EK_SECURITY_H
// The part of Apple's Security that the project uses, written from its public documentation.
#import <Foundation/Foundation.h>
CF_IMPLICIT_BRIDGING_ENABLED
CF_ASSUME_NONNULL_BEGIN
typedef struct CF_BRIDGED_TYPE(id) __SecCertificate *SecCertificateRef;
SecCertificateRef _Nullable SecCertificateCreateWithData(CFAllocatorRef _Nullable allocator, CFDataRef data) API_AVAILABLE(macos(10.6), ios(2.0));
CFDataRef SecCertificateCopyData(SecCertificateRef certificate) API_AVAILABLE(macos(10.6), ios(2.0));
OSStatus SecTrustSetAnchorCertificates(SecTrustRef trust, CFArrayRef _Nullable anchorCertificates) API_AVAILABLE(macos(10.3), ios(2.0));
OSStatus SecTrustSetAnchorCertificatesOnly(SecTrustRef trust, Boolean anchorCertificatesOnly) API_AVAILABLE(macos(10.6), ios(2.0));
bool SecTrustEvaluateWithError(SecTrustRef trust, CFErrorRef _Nullable * _Nullable error) API_AVAILABLE(macos(10.14), ios(12.0), tvos(12.0), watchos(5.0));
CFArrayRef _Nullable SecTrustCopyCertificateChain(SecTrustRef trust) API_AVAILABLE(macos(12.0), ios(15.0), tvos(15.0), watchos(8.0));
enum : OSStatus { errSecSuccess = 0 };
CF_ASSUME_NONNULL_END
CF_IMPLICIT_BRIDGING_DISABLED
#endif
