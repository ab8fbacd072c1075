#ifndef EKN_CCURL_H
#define EKN_CCURL_H
#endif
