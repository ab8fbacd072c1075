#include "ekn_tls.h"

#if defined(__linux__)

#include <dlfcn.h>
#include <string.h>

// Result, name, parameters. NULL if libcurl uses another TLS library, or does not expose its symbols.
#define FUNCTIONS(X) \
  X(void, SSL_get0_alpn_selected, (const void *, const unsigned char **, unsigned int *)) \
  X(int, SSL_has_pending, (const void *)) \
  X(void, SSL_set_read_ahead, (void *, int)) \
  X(uint64_t, SSL_clear_options, (void *, uint64_t)) \
  X(int, SSL_get_shutdown, (const void *)) \
  X(int, SSL_CTX_set_alpn_protos, (void *, const unsigned char *, unsigned int)) \
  X(void, SSL_CTX_set_cert_cb, (void *, int (*)(void *, void *), void *)) \
  X(ekn_authorities *, SSL_CTX_get_cert_store, (const void *)) \
  X(void, SSL_CTX_set_cert_store, (void *, ekn_authorities *)) \
  X(int, X509_STORE_up_ref, (ekn_authorities *)) \
  X(void, X509_STORE_free, (ekn_authorities *)) \
  X(int, OPENSSL_init_ssl, (uint64_t, const void *))

#define MEMBER(result, name, parameters) result(*name) parameters;
static struct {
  FUNCTIONS(MEMBER)
} openssl;

#define LINKED(result, name, parameters) extern void linked_##name(void) __asm__(#name) __attribute__((weak));
FUNCTIONS(LINKED)

void ekn_tls_load(void *library) {
  // A library's handle also finds the symbols of the libraries that it depends on.
#define RESOLVE(result, name, parameters) \
  *(void **)&openssl.name = library ? dlsym(library, #name) : (void *)linked_##name;
  FUNCTIONS(RESOLVE)
}

void ekn_tls_initialise(void) {
  if (openssl.OPENSSL_init_ssl) openssl.OPENSSL_init_ssl(0, NULL);
}

// libcurl's curl_tlssessioninfo.
typedef struct {
  int backend;
  void *session;
} tls_session;

// NULL if it is not one of OpenSSL, or the connection has no TLS.
static void *session_of(ekn_easy *easy) {
  enum { OPENSSL = 1 };
  const tls_session *tls = ekn_easy_info_pointer(easy, EKN_INFO_TLS_SSL_PTR);
  return tls && tls->backend == OPENSSL ? tls->session : NULL;
}

bool ekn_easy_has_chosen_http2(ekn_easy *easy) {
  const unsigned char *name = NULL;
  unsigned int size = 0;
  void *session = session_of(easy);
  if (session && openssl.SSL_get0_alpn_selected) openssl.SSL_get0_alpn_selected(session, &name, &size);
  return size == 2 && memcmp(name, "h2", 2) == 0;
}

bool ekn_tls_can_offer(void) { return openssl.SSL_CTX_set_alpn_protos && openssl.SSL_get0_alpn_selected; }

bool ekn_tls_can_share_authorities(void) {
  return openssl.SSL_CTX_get_cert_store && openssl.SSL_CTX_set_cert_store && openssl.X509_STORE_up_ref &&
         openssl.X509_STORE_free;
}

bool ekn_authorities_retain(ekn_authorities *authorities) { return openssl.X509_STORE_up_ref(authorities) == 1; }
void ekn_authorities_release(ekn_authorities *authorities) { openssl.X509_STORE_free(authorities); }

static int note_request(void *session, void *of_setup) {
  ekn_tls_setup *setup = of_setup;
  (void)session;
  setup->was_requested = true;
  return 1;  // Without a certificate.
}

int ekn_tls_prepare(ekn_easy *easy, void *context, void *of_setup) {
  static const unsigned char names[] = "\x02h2\x08http/1.1";
  const int aborted = 42;
  ekn_tls_setup *setup = of_setup;
  (void)easy;
  if (setup->offers_http2 && openssl.SSL_CTX_set_alpn_protos(context, names, sizeof names - 1) != 0) return aborted;
  if (setup->authorities) {
    // Each context has a reference of its own.
    if (!ekn_authorities_retain(setup->authorities)) return aborted;
    openssl.SSL_CTX_set_cert_store(context, setup->authorities);
  } else if (setup->keeps_authorities && !setup->loaded) {
    ekn_authorities *loaded = openssl.SSL_CTX_get_cert_store(context);
    if (loaded && ekn_authorities_retain(loaded)) setup->loaded = loaded;
  }
  if (setup->notes_request && openssl.SSL_CTX_set_cert_cb)
    openssl.SSL_CTX_set_cert_cb(context, note_request, setup);
  return 0;
}

void ekn_easy_read_ahead(ekn_easy *easy) {
  void *session = session_of(easy);
  if (session && openssl.SSL_set_read_ahead) openssl.SSL_set_read_ahead(session, 1);
}

bool ekn_easy_may_have_input(ekn_easy *easy) {
  void *session = session_of(easy);
  return !session || !openssl.SSL_has_pending || openssl.SSL_has_pending(session);
}

// GnuTLS always reports it. OpenSSL does not if libcurl has set SSL_OP_IGNORE_UNEXPECTED_EOF, nor if it reads through functions of
// libcurl, as since 7.87: they do not tell it that the connection has ended.
void ekn_easy_require_close_notify(ekn_easy *easy) {
  const uint64_t ignore_unexpected_eof = 1 << 7;
  void *session = session_of(easy);
  if (session && openssl.SSL_clear_options) openssl.SSL_clear_options(session, ignore_unexpected_eof);
}

bool ekn_easy_has_close_notify(ekn_easy *easy) {
  const int received = 2;
  void *session = session_of(easy);
  return !session || !openssl.SSL_get_shutdown || (openssl.SSL_get_shutdown(session) & received);
}

#endif
