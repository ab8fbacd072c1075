#include "ekn_tls.h"

#if defined(__linux__)

#include <dlfcn.h>
#include <string.h>

// NULL if libcurl uses another TLS library, or does not expose its symbols.
static struct {
  void (*alpn_selected)(const void *, const unsigned char **, unsigned int *);
  int (*has_pending)(const void *);
  void (*set_read_ahead)(void *, int);
  uint64_t (*clear_options)(void *, uint64_t);
  int (*get_shutdown)(const void *);
  int (*set_alpn_protos)(void *, const unsigned char *, unsigned int);
  ekn_authorities *(*get_cert_store)(const void *);
  void (*set_cert_store)(void *, ekn_authorities *);
  int (*up_ref)(ekn_authorities *);
  void (*free)(ekn_authorities *);
  int (*init)(uint64_t, const void *);
} openssl;

#define EKN_LINKED(name) extern void linked_##name(void) __asm__(#name) __attribute__((weak))
EKN_LINKED(SSL_get0_alpn_selected);
EKN_LINKED(SSL_has_pending);
EKN_LINKED(SSL_set_read_ahead);
EKN_LINKED(SSL_clear_options);
EKN_LINKED(SSL_get_shutdown);
EKN_LINKED(SSL_CTX_set_alpn_protos);
EKN_LINKED(SSL_CTX_get_cert_store);
EKN_LINKED(SSL_CTX_set_cert_store);
EKN_LINKED(X509_STORE_up_ref);
EKN_LINKED(X509_STORE_free);
EKN_LINKED(OPENSSL_init_ssl);
#undef EKN_LINKED

// A library's handle also finds the symbols of the libraries that it depends on.
#define EKN_RESOLVE(member, name) *(void **)&openssl.member = library ? dlsym(library, #name) : (void *)linked_##name

void ekn_tls_load(void *library) {
  EKN_RESOLVE(alpn_selected, SSL_get0_alpn_selected);
  EKN_RESOLVE(has_pending, SSL_has_pending);
  EKN_RESOLVE(set_read_ahead, SSL_set_read_ahead);
  EKN_RESOLVE(clear_options, SSL_clear_options);
  EKN_RESOLVE(get_shutdown, SSL_get_shutdown);
  EKN_RESOLVE(set_alpn_protos, SSL_CTX_set_alpn_protos);
  EKN_RESOLVE(get_cert_store, SSL_CTX_get_cert_store);
  EKN_RESOLVE(set_cert_store, SSL_CTX_set_cert_store);
  EKN_RESOLVE(up_ref, X509_STORE_up_ref);
  EKN_RESOLVE(free, X509_STORE_free);
  EKN_RESOLVE(init, OPENSSL_init_ssl);
}

void ekn_tls_initialise(void) {
  if (openssl.init) openssl.init(0, NULL);
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
  if (session && openssl.alpn_selected) openssl.alpn_selected(session, &name, &size);
  return size == 2 && memcmp(name, "h2", 2) == 0;
}

bool ekn_tls_can_offer(void) { return openssl.set_alpn_protos && openssl.alpn_selected; }

bool ekn_tls_can_share_authorities(void) {
  return openssl.get_cert_store && openssl.set_cert_store && openssl.up_ref && openssl.free;
}

bool ekn_authorities_retain(ekn_authorities *authorities) { return openssl.up_ref(authorities) == 1; }
void ekn_authorities_release(ekn_authorities *authorities) { openssl.free(authorities); }

int ekn_tls_prepare(ekn_easy *easy, void *context, void *of_setup) {
  static const unsigned char names[] = "\x02h2\x08http/1.1";
  const int aborted = 42;
  ekn_tls_setup *setup = of_setup;
  (void)easy;
  if (setup->offers_http2 && openssl.set_alpn_protos(context, names, sizeof names - 1) != 0) return aborted;
  if (setup->authorities) {
    // Each context has a reference of its own.
    if (!ekn_authorities_retain(setup->authorities)) return aborted;
    openssl.set_cert_store(context, setup->authorities);
  } else if (setup->keeps_authorities && !setup->loaded) {
    ekn_authorities *loaded = openssl.get_cert_store(context);
    if (loaded && ekn_authorities_retain(loaded)) setup->loaded = loaded;
  }
  return 0;
}

void ekn_easy_read_ahead(ekn_easy *easy) {
  void *session = session_of(easy);
  if (session && openssl.set_read_ahead) openssl.set_read_ahead(session, 1);
}

bool ekn_easy_may_have_input(ekn_easy *easy) {
  void *session = session_of(easy);
  return !session || !openssl.has_pending || openssl.has_pending(session);
}

// GnuTLS always reports it. OpenSSL does not if libcurl has set SSL_OP_IGNORE_UNEXPECTED_EOF, nor if it reads through functions of
// libcurl, as since 7.87: they do not tell it that the connection has ended.
void ekn_easy_require_close_notify(ekn_easy *easy) {
  const uint64_t ignore_unexpected_eof = 1 << 7;
  void *session = session_of(easy);
  if (session && openssl.clear_options) openssl.clear_options(session, ignore_unexpected_eof);
}

bool ekn_easy_has_close_notify(ekn_easy *easy) {
  const int received = 2;
  void *session = session_of(easy);
  return !session || !openssl.get_shutdown || (openssl.get_shutdown(session) & received);
}

#endif
