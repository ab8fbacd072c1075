#include "CZlib.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

// zlib's z_stream: its layout is part of zlib's ABI, and the init functions check it by its size.
typedef struct {
  const uint8_t *next_in;
  unsigned avail_in;
  unsigned long total_in;
  uint8_t *next_out;
  unsigned avail_out;
  unsigned long total_out;
  const char *message;
  void *state;
  void *allocate;
  void *deallocate;
  void *opaque;
  int data_type;
  unsigned long adler;
  unsigned long reserved;
} ekn_zstream;

enum { Z_OK_ = 0, Z_STREAM_END_ = 1, Z_BUF_ERROR_ = -5, Z_SYNC_FLUSH_ = 2, Z_DEFLATED_ = 8 };

static struct {
  int (*deflate_init)(ekn_zstream *, int, int, int, int, int, const char *, int);
  int (*deflate)(ekn_zstream *, int);
  int (*deflate_reset)(ekn_zstream *);
  int (*deflate_end)(ekn_zstream *);
  int (*inflate_init)(ekn_zstream *, int, const char *, int);
  int (*inflate)(ekn_zstream *, int);
  int (*inflate_reset)(ekn_zstream *);
  int (*inflate_reset_keep)(ekn_zstream *);
  int (*inflate_end)(ekn_zstream *);
  const char *(*version)(void);
  bool available;
} zlib;

static pthread_once_t once = PTHREAD_ONCE_INIT;

// The symbols of a zlib that is part of the program. musl stands for the Static Linux SDK, which cannot open libraries
// and contains zlib; nothing else there refers to its compressing half.
#if defined(__linux__) && defined(__GLIBC__)
#define EKN_LINKED(name) extern void linked_##name(void) __asm__(#name) __attribute__((weak))
#elif defined(__linux__)
#define EKN_LINKED(name) extern void linked_##name(void) __asm__(#name)
#else
#define EKN_LINKED(name) static void (*const linked_##name)(void) = NULL
#endif
EKN_LINKED(deflateInit2_);
EKN_LINKED(deflate);
EKN_LINKED(deflateReset);
EKN_LINKED(deflateEnd);
EKN_LINKED(inflateInit2_);
EKN_LINKED(inflate);
EKN_LINKED(inflateReset);
EKN_LINKED(inflateResetKeep);
EKN_LINKED(inflateEnd);
EKN_LINKED(zlibVersion);
#undef EKN_LINKED

static void load(void) {
#if defined(__APPLE__)
  void *library = dlopen("/usr/lib/libz.1.dylib", RTLD_NOW | RTLD_LOCAL);
#else
  void *library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
#endif
// ISO C cannot convert an object pointer to a function pointer; POSIX dlsym requires this form.
#define EKN_RESOLVE(member, name) \
  ((*(void **)&zlib.member = library ? dlsym(library, #name) : (void *)linked_##name) != NULL)
  zlib.available = EKN_RESOLVE(deflate_init, deflateInit2_) && EKN_RESOLVE(deflate, deflate) &&
                   EKN_RESOLVE(deflate_reset, deflateReset) && EKN_RESOLVE(deflate_end, deflateEnd) &&
                   EKN_RESOLVE(inflate_init, inflateInit2_) && EKN_RESOLVE(inflate, inflate) &&
                   EKN_RESOLVE(inflate_reset, inflateReset) && EKN_RESOLVE(inflate_reset_keep, inflateResetKeep) &&
                   EKN_RESOLVE(inflate_end, inflateEnd) && EKN_RESOLVE(version, zlibVersion);
#undef EKN_RESOLVE
}

bool ekn_zlib_available(void) {
  pthread_once(&once, load);
  return zlib.available;
}

struct ekn_deflater {
  ekn_zstream stream;
};

struct ekn_inflater {
  ekn_zstream stream;
};

static void lend(ekn_zstream *stream, const uint8_t *input, size_t input_length, uint8_t *output,
                 size_t output_length) {
  stream->next_in = input;
  stream->avail_in = input_length > UINT_MAX ? UINT_MAX : (unsigned)input_length;
  stream->next_out = output;
  stream->avail_out = output_length > UINT_MAX ? UINT_MAX : (unsigned)output_length;
}

static void take_back(ekn_zstream *stream, const uint8_t **input, size_t *input_length, uint8_t **output,
                      size_t *output_length) {
  *input_length -= (size_t)(stream->next_in - *input);
  *input = stream->next_in;
  *output_length -= (size_t)(stream->next_out - *output);
  *output = stream->next_out;
}

ekn_deflater *ekn_deflater_create(int window_bits) {
  if (!ekn_zlib_available()) return NULL;
  ekn_deflater *deflater = calloc(1, sizeof *deflater);
  if (!deflater) return NULL;
  if (zlib.deflate_init(&deflater->stream, -1, Z_DEFLATED_, -window_bits, 8, 0, zlib.version(),
                        sizeof deflater->stream) == Z_OK_)
    return deflater;
  free(deflater);
  return NULL;
}

void ekn_deflater_free(ekn_deflater *deflater) {
  if (!deflater) return;
  zlib.deflate_end(&deflater->stream);
  free(deflater);
}

void ekn_deflater_reset(ekn_deflater *deflater) { zlib.deflate_reset(&deflater->stream); }

ekn_zlib_status ekn_deflater_run(ekn_deflater *deflater, const uint8_t **input, size_t *input_length,
                                 uint8_t **output, size_t *output_length) {
  lend(&deflater->stream, *input, *input_length, *output, *output_length);
  int code = zlib.deflate(&deflater->stream, Z_SYNC_FLUSH_);
  take_back(&deflater->stream, input, input_length, output, output_length);
  return code == Z_OK_ || code == Z_BUF_ERROR_ ? EKN_ZLIB_OK : EKN_ZLIB_CORRUPT;
}

// zlib's windowBits. The largest window decodes what was encoded with any smaller one.
static int window_bits(ekn_zlib_format format) {
  switch (format) {
    case EKN_FORMAT_RAW: return -15;
    case EKN_FORMAT_ZLIB: return 15;
    case EKN_FORMAT_GZIP: return 15 + 16;
  }
  return -15;
}

ekn_inflater *ekn_inflater_create(ekn_zlib_format format) {
  if (!ekn_zlib_available()) return NULL;
  ekn_inflater *inflater = calloc(1, sizeof *inflater);
  if (!inflater) return NULL;
  if (zlib.inflate_init(&inflater->stream, window_bits(format), zlib.version(), sizeof inflater->stream) == Z_OK_)
    return inflater;
  free(inflater);
  return NULL;
}

void ekn_inflater_free(ekn_inflater *inflater) {
  if (!inflater) return;
  zlib.inflate_end(&inflater->stream);
  free(inflater);
}

bool ekn_inflater_reset(ekn_inflater *inflater) { return zlib.inflate_reset(&inflater->stream) == Z_OK_; }

bool ekn_inflater_continue(ekn_inflater *inflater) { return zlib.inflate_reset_keep(&inflater->stream) == Z_OK_; }

ekn_zlib_status ekn_inflater_run(ekn_inflater *inflater, const uint8_t **input, size_t *input_length,
                                 uint8_t **output, size_t *output_length) {
  lend(&inflater->stream, *input, *input_length, *output, *output_length);
  int code = zlib.inflate(&inflater->stream, Z_SYNC_FLUSH_);
  take_back(&inflater->stream, input, input_length, output, output_length);
  if (code == Z_STREAM_END_) return EKN_ZLIB_END;
  return code == Z_OK_ || code == Z_BUF_ERROR_ ? EKN_ZLIB_OK : EKN_ZLIB_CORRUPT;
}
