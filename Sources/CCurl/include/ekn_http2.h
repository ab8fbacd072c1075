// HTTP/2's frames, HPACK and flow control (RFC 9113, RFC 7541), by libnghttp2, which every libcurl with HTTP/2 links. It is
// opened at run time, like libcurl; the prototypes are those of its ABI, which has been stable since 1.0 (soname 14).
#ifndef EKN_HTTP2_H
#define EKN_HTTP2_H

#if defined(__linux__)

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// nghttp2's session.
typedef struct ekn_http2 ekn_http2;

// Whether the library could be opened.
bool ekn_http2_load(void);

// nghttp2_nv.
typedef struct {
  const uint8_t *name, *value;
  size_t name_length, value_length;
  uint8_t flags;
} ekn_http2_field;

// What is used of nghttp2_frame. The last stream and the code are those of a GOAWAY alone.
typedef struct {
  size_t length;
  int32_t stream;
  uint8_t type, flags, reserved;
  int32_t last_stream;
  uint32_t code;
} ekn_http2_frame;

enum { EKN_HTTP2_DATA = 0, EKN_HTTP2_HEADERS = 1, EKN_HTTP2_PING = 6, EKN_HTTP2_GOAWAY = 7 };
// Flags of DATA and HEADERS, and of PING.
enum { EKN_HTTP2_END_STREAM = 1, EKN_HTTP2_ACK = 1 };
// What a callback returns that failed, which resets the stream (NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE), and what a reader does that
// has nothing yet (NGHTTP2_ERR_DEFERRED).
enum { EKN_HTTP2_FAILED = -521, EKN_HTTP2_PENDING = -508 };
// What a reader adds to its flags at the end of a body, and if trailers follow it.
enum { EKN_HTTP2_IS_END = 1, EKN_HTTP2_HAS_TRAILERS = 2 };

typedef int ekn_http2_frame_callback(ekn_http2 *session, const ekn_http2_frame *frame, void *context);
typedef int ekn_http2_field_callback(
  ekn_http2 *session, const ekn_http2_frame *frame, const uint8_t *name, size_t name_length, const uint8_t *value,
  size_t value_length, uint8_t flags, void *context);
typedef int ekn_http2_data_callback(
  ekn_http2 *session, uint8_t flags, int32_t stream, const uint8_t *bytes, size_t count, void *context);
typedef int ekn_http2_close_callback(ekn_http2 *session, int32_t stream, uint32_t code, void *context);
// Reads the next bytes of a body into memory.
typedef ptrdiff_t ekn_http2_reader(
  ekn_http2 *session, int32_t stream, uint8_t *buffer, size_t length, uint32_t *flags, void **source, void *context);

// Called while bytes are received or taken. They may submit and consume, but neither receive, take nor free.
typedef struct {
  // The peer has begun to send a frame, of which there is only the head.
  ekn_http2_frame_callback *begin_frame;
  // A field of a head or of trailers.
  ekn_http2_field_callback *field;
  // The frame is complete, and those that continue it.
  ekn_http2_frame_callback *frame;
  ekn_http2_data_callback *data;
  // The stream is closed, with an error code of RFC 9113 §7.
  ekn_http2_close_callback *closed;
  // For the bodies of requests.
  ekn_http2_reader *read;
} ekn_http2_callbacks;

// A client's session, or NULL if there is no memory left. Its preface and settings are ready to be sent.
//
// - stream_window: the number of bytes of a stream that may be received before they are consumed.
// - connection_window: likewise for all streams together.
// - maximum_head: the size of the heads that the peer is asked not to exceed.
ekn_http2 *ekn_http2_client(
  const ekn_http2_callbacks *callbacks, void *context, int32_t stream_window, int32_t connection_window, uint32_t maximum_head);
void ekn_http2_free(ekn_http2 *session);

// Takes bytes from the peer, and returns 0 or an error code of the library's, after which the session is over.
int ekn_http2_receive(ekn_http2 *session, const uint8_t *bytes, size_t count);
// The next bytes for the peer, valid until the next call; 0 if there are none, negative for an error.
ptrdiff_t ekn_http2_take(ekn_http2 *session, const uint8_t **bytes);
bool ekn_http2_wants_to_send(ekn_http2 *session);
// Whether nothing more is read: the peer has broken the protocol, or all is over after a GOAWAY.
bool ekn_http2_is_over(ekn_http2 *session);
const char *ekn_http2_strerror(int code);

// Begins a stream, and returns its number or an error code. The fields begin with the pseudo-fields, and have names in lower case.
// `body` is NULL if there is none.
int32_t ekn_http2_request(ekn_http2 *session, const ekn_http2_field *fields, size_t count, ekn_http2_reader *body);
// Follows the body of a stream with trailer fields, from within the callback that reads its end. Returns whether it did.
bool ekn_http2_trailers(ekn_http2 *session, int32_t stream, const ekn_http2_field *fields, size_t count);
// Continues a body that had nothing to send.
void ekn_http2_resume(ekn_http2 *session, int32_t stream);
// Frees the window of bytes that were received.
void ekn_http2_consume(ekn_http2 *session, int32_t stream, size_t count);
void ekn_http2_reset(ekn_http2 *session, int32_t stream, uint32_t code);
void ekn_http2_ping(ekn_http2 *session);
void ekn_http2_goaway(ekn_http2 *session, uint32_t code);
// Sets the receive window of a stream, which may only grow.
void ekn_http2_set_window(ekn_http2 *session, int32_t stream, int32_t window);
// The number of streams that the peer accepts at once (RFC 9113 §6.5.2).
uint32_t ekn_http2_maximum_streams(ekn_http2 *session);
// Whether anything of a stream that is not closed was sent.
bool ekn_http2_has_sent(ekn_http2 *session, int32_t stream);
// Whether new streams may be begun.
bool ekn_http2_accepts_requests(ekn_http2 *session);

#endif
#endif
