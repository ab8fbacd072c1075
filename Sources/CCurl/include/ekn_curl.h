// The part of libcurl's C interface that EKNetwork uses, with prototypes of its own: a stock Linux machine has
// libcurl.so.4 (FoundationNetworking links it) but neither its headers nor a libcurl.so to link against. The library
// is opened at run time. Numbers are libcurl's ABI, which has been stable since 7.16 (soname 4).
#ifndef EKN_CURL_H
#define EKN_CURL_H

#if defined(__linux__)

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ekn_easy ekn_easy;
typedef struct ekn_multi ekn_multi;
typedef struct ekn_slist ekn_slist;

enum {
  EKN_OPT_PORT = 3,
  EKN_OPT_WRITEDATA = 10001,
  EKN_OPT_URL = 10002,
  EKN_OPT_READDATA = 10009,
  EKN_OPT_ERRORBUFFER = 10010,
  EKN_OPT_WRITEFUNCTION = 20011,
  EKN_OPT_READFUNCTION = 20012,
  EKN_OPT_USERAGENT = 10018,
  EKN_OPT_HTTPHEADER = 10023,
  EKN_OPT_HEADERDATA = 10029,
  EKN_OPT_CUSTOMREQUEST = 10036,
  EKN_OPT_VERBOSE = 41,
  EKN_OPT_NOBODY = 44,
  EKN_OPT_POST = 47,
  EKN_OPT_HEADERFUNCTION = 20079,
  EKN_OPT_FRESH_CONNECT = 74,
  EKN_OPT_HTTPGET = 80,
  EKN_OPT_PROXY = 10004,
  EKN_OPT_PROXYUSERNAME = 10175,
  EKN_OPT_PROXYPASSWORD = 10176,
  EKN_OPT_NOPROXY = 10177,
  EKN_OPT_SSLCERT = 10025,
  EKN_OPT_KEYPASSWD = 10026,
  EKN_OPT_CAINFO = 10065,
  EKN_OPT_SSLKEY = 10087,
  EKN_OPT_PINNEDPUBLICKEY = 10230,
  EKN_OPT_DEBUGFUNCTION = 20094,
  EKN_OPT_DEBUGDATA = 10095,
  EKN_OPT_CAPATH = 10097,
  EKN_OPT_BUFFERSIZE = 98,
  EKN_OPT_NOSIGNAL = 99,
  EKN_OPT_PRIVATE = 10103,
  EKN_OPT_POSTFIELDSIZE_LARGE = 30120,
  EKN_OPT_CONNECTTIMEOUT_MS = 156,
  EKN_OPT_HTTP_CONTENT_DECODING = 158,
  EKN_OPT_SEEKFUNCTION = 20167,
  EKN_OPT_SEEKDATA = 10168,
  EKN_OPT_PROTOCOLS = 181,
  EKN_OPT_TCP_KEEPALIVE = 213,
  EKN_OPT_PIPEWAIT = 237,
  EKN_OPT_SUPPRESS_CONNECT_HEADERS = 265,
  EKN_OPT_PREREQFUNCTION = 20312,
  EKN_OPT_PREREQDATA = 10313,
  EKN_OPT_UPLOAD_BUFFERSIZE = 280,
  EKN_OPT_QUICK_EXIT = 322,

  EKN_PROTO_HTTP = 1,
  EKN_PROTO_HTTPS = 2,

  EKN_INFO_PRIVATE = 0x100000 + 21,
  EKN_INFO_SSL_VERIFYRESULT = 0x200000 + 13,
  EKN_INFO_HTTP_CONNECTCODE = 0x200000 + 22,
  EKN_INFO_OS_ERRNO = 0x200000 + 25,
  EKN_INFO_NUM_CONNECTS = 0x200000 + 26,
  EKN_INFO_PRIMARY_IP = 0x100000 + 32,
  EKN_INFO_HTTP_VERSION = 0x200000 + 46,
  EKN_INFO_TOTAL_TIME = 0x600000 + 50,
  EKN_INFO_NAMELOOKUP_TIME = 0x600000 + 51,
  EKN_INFO_CONNECT_TIME = 0x600000 + 52,
  EKN_INFO_STARTTRANSFER_TIME = 0x600000 + 54,
  EKN_INFO_APPCONNECT_TIME = 0x600000 + 56,

  EKN_MOPT_SOCKETFUNCTION = 20001,
  EKN_MOPT_SOCKETDATA = 10002,
  EKN_MOPT_TIMERFUNCTION = 20004,
  EKN_MOPT_TIMERDATA = 10005,
  EKN_MOPT_MAXCONNECTS = 6,
  EKN_MOPT_MAX_HOST_CONNECTIONS = 7,

  EKN_POLL_NONE = 0,
  EKN_POLL_IN = 1,
  EKN_POLL_OUT = 2,
  EKN_POLL_INOUT = 3,
  EKN_POLL_REMOVE = 4,

  EKN_CSELECT_IN = 1,
  EKN_CSELECT_OUT = 2,
  EKN_CSELECT_ERR = 4,

  EKN_PAUSE_CONT = 0,
  EKN_PAUSE_RECV = 1,
  EKN_PAUSE_SEND = 4,

  EKN_READFUNC_ABORT = 0x10000000,
  EKN_READFUNC_PAUSE = 0x10000001,
  EKN_SEEKFUNC_OK = 0,
  EKN_SEEKFUNC_FAIL = 1,
  EKN_PREREQFUNC_OK = 0,
  EKN_PREREQFUNC_ABORT = 1,

  EKN_ERROR_SIZE = 256,
  EKN_SOCKET_TIMEOUT = -1
};

typedef size_t (*ekn_data_callback)(char *data, size_t size, size_t count, void *context);
typedef int (*ekn_seek_callback)(void *context, int64_t offset, int origin);
typedef int (*ekn_prereq_callback)(void *context, char *address, char *own_address, int port, int own_port);
typedef int (*ekn_socket_callback)(ekn_easy *easy, int socket, int what, void *context, void *socket_context);
typedef int (*ekn_timer_callback)(ekn_multi *multi, long milliseconds, void *context);

// A finished transfer, copied out of libcurl's message, which dies with the next call.
typedef struct {
  ekn_easy *easy;
  int code;
} ekn_completion;

typedef struct {
  unsigned int stream;
  bool refused;
} ekn_refusal;

// Opens libcurl once per process. False when it is missing or lacks a function that is needed.
bool ekn_curl_load(void);
const char *ekn_curl_version(void);

ekn_easy *ekn_easy_init(void);
void ekn_easy_cleanup(ekn_easy *easy);
void ekn_easy_reset(ekn_easy *easy);
int ekn_easy_set_long(ekn_easy *easy, int option, long value);
int ekn_easy_set_offset(ekn_easy *easy, int option, int64_t value);
int ekn_easy_set_pointer(ekn_easy *easy, int option, const void *value);
int ekn_easy_set_string(ekn_easy *easy, int option, const char *value);
int ekn_easy_set_data_callback(ekn_easy *easy, int option, ekn_data_callback callback);
int ekn_easy_set_seek_callback(ekn_easy *easy, ekn_seek_callback callback);
// Not a failure where it is unknown (before 7.80): the result says so.
int ekn_easy_set_prereq_callback(ekn_easy *easy, ekn_prereq_callback callback, void *context);
// Notes in `*refusal`, which must outlive the transfer, whether the server has refused the request's stream unread: by
// REFUSED_STREAM, or by a GOAWAY that leaves it out (RFC 9113 §6.8, §8.7). libcurl says so in its log alone.
void ekn_easy_watch_refusal(ekn_easy *easy, ekn_refusal *refusal);
long ekn_easy_info_long(ekn_easy *easy, int info);
// Microseconds, for the times.
int64_t ekn_easy_info_offset(ekn_easy *easy, int info);
// NULL for none; libcurl's own, until the handle is used again.
const char *ekn_easy_info_string(ekn_easy *easy, int info);
// What was set as EKN_OPT_PRIVATE.
void *ekn_easy_context(ekn_easy *easy);
int ekn_easy_pause(ekn_easy *easy, int bits);
const char *ekn_easy_strerror(int code);

ekn_slist *ekn_slist_append(ekn_slist *list, const char *line);
void ekn_slist_free(ekn_slist *list);

ekn_multi *ekn_multi_init(void);
void ekn_multi_cleanup(ekn_multi *multi);
int ekn_multi_set_long(ekn_multi *multi, int option, long value);
int ekn_multi_set_socket_callback(ekn_multi *multi, ekn_socket_callback callback, void *context);
int ekn_multi_set_timer_callback(ekn_multi *multi, ekn_timer_callback callback, void *context);
int ekn_multi_add(ekn_multi *multi, ekn_easy *easy);
int ekn_multi_remove(ekn_multi *multi, ekn_easy *easy);
int ekn_multi_socket_action(ekn_multi *multi, int socket, int events, int *running);
// The next finished transfer; `easy` is NULL when there is none.
ekn_completion ekn_multi_next_completion(ekn_multi *multi);

// A connection without HTTP on it (CURLOPT_CONNECT_ONLY), for WebSockets.
enum {
  EKN_OPT_HTTPPROXYTUNNEL = 61,
  EKN_OPT_HTTP_VERSION = 84,
  EKN_OPT_CONNECT_ONLY = 141,

  EKN_HTTP_VERSION_1_1 = 2,
  EKN_INFO_ACTIVESOCKET = 0x500000 + 44,
  EKN_AGAIN = 81
};

// Whether libcurl has what a bare connection needs.
bool ekn_bare_load(void);
// The connection's socket, -1 for none.
int ekn_bare_socket(ekn_easy *easy);
int ekn_bare_send(ekn_easy *easy, const void *bytes, size_t length, size_t *sent);
// Without bytes and without an error the peer has ended the connection.
int ekn_bare_receive(ekn_easy *easy, void *bytes, size_t length, size_t *received);

#endif
#endif
