// What the TLS library under libcurl knows of a connection and libcurl does not tell, if it is one of OpenSSL's kind.
#ifndef EKN_TLS_H
#define EKN_TLS_H

#if defined(__linux__)

#include "ekn_curl.h"

// Finds their functions in what libcurl depends on, or in the program if that is NULL.
void ekn_tls_load(void *library);
// Makes OpenSSL register its handler of `exit` now, which newer versions of libcurl leave to the first connection.
void ekn_tls_initialise(void);

// Whether TLS has negotiated HTTP/2 (RFC 7301). The connection must have been used before.
bool ekn_easy_has_chosen_http2(ekn_easy *easy);
// Whether HTTP/2 can be offered past libcurl, which would speak it: with OpenSSL's kind, if libcurl was built with it.
bool ekn_tls_can_offer(void);
// Certificate authorities in memory (X509_STORE), which several connections may use, on any thread.
typedef struct ekn_authorities ekn_authorities;
// Whether connections can use those of another.
bool ekn_tls_can_share_authorities(void);
bool ekn_authorities_retain(ekn_authorities *authorities);
void ekn_authorities_release(ekn_authorities *authorities);

typedef struct {
  // Whether HTTP/2 and HTTP/1.1 are offered (RFC 7301), in place of what libcurl offers.
  bool offers_http2;
  // What is trusted; NULL for what libcurl loads.
  ekn_authorities *authorities;
  // Whether what libcurl loads is to be kept, and what it is: a reference.
  bool keeps_authorities;
  ekn_authorities *loaded;
  // Whether it is to be noted that the server has asked for a certificate of the client, and whether it has.
  bool notes_request;
  bool was_requested;
} ekn_tls_setup;
// A callback of libcurl's (CURLOPT_SSL_CTX_FUNCTION) with such a setup.
int ekn_tls_prepare(ekn_easy *easy, void *context, void *setup);
// Sets it for a connection, which the setup must outlive.
int ekn_easy_prepare_tls(ekn_easy *easy, ekn_tls_setup *setup);
// Makes libcurl load nobody's certificate for a connection that gets its authorities from its setup.
void ekn_easy_load_no_authorities(ekn_easy *easy);

// Of a connection, which must have been used before:

// Reads as much of the socket at once as there is, not the head and the rest of each record. The socket is then only ready again
// for bytes that come after those that can be received.
void ekn_easy_read_ahead(ekn_easy *easy);
// Whether TLS may have bytes that have left the socket, which does not become ready for them; true if that is not known.
bool ekn_easy_may_have_input(ekn_easy *easy);
// Makes an end an error that the peer has not announced in TLS (RFC 8446 §6.1), where that can be done.
void ekn_easy_require_close_notify(ekn_easy *easy);
// Whether the end is announced, after `ekn_easy_require_close_notify`; true if that is not known.
bool ekn_easy_has_close_notify(ekn_easy *easy);

#endif
#endif
