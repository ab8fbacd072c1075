#ifndef EKN_CCURL_H
#define EKN_CCURL_H

#include "ekn_codec.h"
#include "ekn_curl.h"
#include "ekn_http2.h"
#include "ekn_poller.h"
#include "ekn_psl.h"
#include "ekn_socket.h"
#include "ekn_tls.h"

#endif
