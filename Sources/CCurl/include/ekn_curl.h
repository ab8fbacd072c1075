// The part of libcurl's C interface that EKNetwork uses, with prototypes of its own: a stock Linux machine has
// libcurl.so.4 (FoundationNetworking links it), but neither its headers nor a libcurl.so to link against. The library
// is opened at run time. The numbers are part of libcurl's ABI, which has been stable since 7.16 (soname 4).
#ifndef EKN_CURL_H
#define EKN_CURL_H

#if defined(__linux__)

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ekn_easy ekn_easy;
typedef struct ekn_multi ekn_multi;
typedef struct ekn_share ekn_share;
// libcurl's curl_slist.
typedef struct ekn_list ekn_list;

// The options that are set in C. The others are in CurlOption.swift.
enum {
  EKN_OPT_CAINFO = 10065,
  EKN_OPT_CAINFO_BLOB = 40309,
  EKN_OPT_DEBUGDATA = 10095,
  EKN_OPT_DEBUGFUNCTION = 20094,
  EKN_OPT_NOPROGRESS = 43,
  EKN_OPT_OPENSOCKETDATA = 10164,
  EKN_OPT_OPENSOCKETFUNCTION = 20163,
  EKN_OPT_RESOLVER_START_DATA = 10273,
  EKN_OPT_RESOLVER_START_FUNCTION = 20272,
  EKN_OPT_SSL_CTX_DATA = 10109,
  EKN_OPT_SSL_CTX_FUNCTION = 20108,
  EKN_OPT_VERBOSE = 41,
  EKN_OPT_XFERINFODATA = 10057,
  EKN_OPT_XFERINFOFUNCTION = 20219,

  EKN_INFO_PRIVATE = 0x100000 + 21,
  EKN_INFO_SSL_VERIFYRESULT = 0x200000 + 13,
  EKN_INFO_HTTP_CONNECTCODE = 0x200000 + 22,
  EKN_INFO_OS_ERRNO = 0x200000 + 25,
  EKN_INFO_PROXY_SSL_VERIFYRESULT = 0x200000 + 47,
  EKN_INFO_CAINFO = 0x100000 + 61,
  EKN_INFO_TLS_SSL_PTR = 0x400000 + 45,
  EKN_INFO_NAMELOOKUP_TIME = 0x600000 + 51,
  EKN_INFO_CONNECT_TIME = 0x600000 + 52,
  EKN_INFO_APPCONNECT_TIME = 0x600000 + 56,

  EKN_MOPT_SOCKETFUNCTION = 20001,
  EKN_MOPT_SOCKETDATA = 10002,
  EKN_MOPT_TIMERFUNCTION = 20004,
  EKN_MOPT_TIMERDATA = 10005,
  EKN_MOPT_RESOLVE_THREADS_MAX = 20,
  EKN_MOPT_QUICK_EXIT = 21,
  EKN_SHOPT_SHARE = 1,
  EKN_LOCK_DATA_DNS = 3,

  EKN_POLL_NONE = 0,
  EKN_POLL_IN = 1,
  EKN_POLL_OUT = 2,
  EKN_POLL_REMOVE = 4,

  EKN_CSELECT_IN = 1,
  EKN_CSELECT_OUT = 2,
  EKN_CSELECT_ERR = 4,

  EKN_HTTP_VERSION_1_1 = 2,
  EKN_INFO_ACTIVESOCKET = 0x500000 + 44,
  EKN_AGAIN = 81,

  EKN_ERROR_SIZE = 256,
  EKN_SOCKET_TIMEOUT = -1
};

typedef int (*ekn_progress_callback)(void *context, int64_t total, int64_t now, int64_t total_up, int64_t now_up);
typedef int (*ekn_socket_callback)(ekn_easy *easy, int socket, int what, void *context, void *socket_context);
typedef int (*ekn_timer_callback)(ekn_multi *multi, long milliseconds, void *context);

// A connection while it is opened.
typedef struct {
  // Whether its name is being looked up.
  bool is_running;
  // The number of sockets that were opened.
  unsigned int sockets;
  // Whether the system has refused one for a lack of descriptors or memory.
  bool lacks_resources;
} ekn_lookup;

// Opens libcurl once per process. The file or function that is missing or fails; NULL if none does.
const char *ekn_curl_problem(void);

typedef struct {
  // NULL for a libcurl without TLS.
  const char *tls;
  // 0xXXYYZZ for XX.YY.ZZ.
  unsigned int number;
  int features;
} ekn_version;

// Must only be called once libcurl has been loaded.
ekn_version ekn_curl_version(void);

ekn_easy *ekn_easy_init(void);
void ekn_easy_cleanup(ekn_easy *easy);
// Whether an option is known, and built in. Sets it to NULL or 0.
bool ekn_easy_knows(ekn_easy *easy, int option);
int ekn_easy_set_long(ekn_easy *easy, int option, long value);
int ekn_easy_set_pointer(ekn_easy *easy, int option, const void *value);
// Sets a callback that can end the transfer (CURLE 42). Some versions of libcurl read a proxy's response to CONNECT for
// as long as there is one, and call nothing else in that time, but this for each byte.
int ekn_easy_set_progress_callback(ekn_easy *easy, ekn_progress_callback callback, void *context);
// Replaces the text of an earlier error by that of an alert of TLS: libcurl itself writes only the first error of a handle there
// (CURLOPT_ERRORBUFFER).
void ekn_easy_note_alerts(ekn_easy *easy, char error_text[EKN_ERROR_SIZE]);
// Opens sockets that no other program inherits, which not every version does by itself.
int ekn_easy_open_sockets(ekn_easy *easy, ekn_lookup *lookup);
// Keeps `*lookup`, which must outlive the handle, up to date; needs ekn_easy_open_sockets.
int ekn_easy_watch_lookup(ekn_easy *easy, ekn_lookup *lookup);
// Whether the process has fewer than three descriptors left. A lookup or a file that could not be opened needed one, and libcurl
// has closed its own by the time that it reports the failure: a socket, or the pair of a resolver.
bool ekn_lacks_descriptors(void);
long ekn_easy_info_long(ekn_easy *easy, int info);
// Microseconds, for the times.
int64_t ekn_easy_info_offset(ekn_easy *easy, int info);
// NULL if there is none. Owned by libcurl, and valid until the handle is used again.
const void *ekn_easy_info_pointer(ekn_easy *easy, int info);
// The socket of an open connection; -1 if there is none.
int ekn_easy_socket(ekn_easy *easy);
const char *ekn_easy_strerror(int code);

// A cache of addresses for handles of one thread, which have nothing else in common; NULL if there is none.
ekn_share *ekn_share_names(void);
// Must not be in use; may be NULL.
void ekn_share_free(ekn_share *share);

// A list with one entry; NULL if there is no memory left.
ekn_list *ekn_list_of(const char *entry);
void ekn_list_free(ekn_list *list);

ekn_multi *ekn_multi_init(void);
void ekn_multi_cleanup(ekn_multi *multi);
int ekn_multi_set_callbacks(
  ekn_multi *multi, ekn_socket_callback on_socket, ekn_timer_callback on_timer, void *context);
int ekn_multi_add(ekn_multi *multi, ekn_easy *easy);
int ekn_multi_remove(ekn_multi *multi, ekn_easy *easy);
int ekn_multi_socket_action(ekn_multi *multi, int socket, int events, int *running);
// Sets the timer of the multi handle of a connection that is being opened, so that libcurl is called for it at once.
void ekn_easy_wake(ekn_easy *easy);
// The next connection that is open, or could not be opened, with its result; NULL if there is none.
ekn_easy *ekn_multi_next_ended(ekn_multi *multi, int *code);

// Of an open connection (CURLOPT_CONNECT_ONLY).
int ekn_easy_send(ekn_easy *easy, const void *bytes, size_t length, size_t *sent);
// No bytes and no error mean that the peer has closed the connection.
int ekn_easy_receive(ekn_easy *easy, void *bytes, size_t length, size_t *received);

#endif
#endif
