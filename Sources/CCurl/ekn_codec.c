#include "ekn_codec.h"

#if defined(__linux__)

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

// zlib's z_stream: its layout is part of zlib's ABI and checked by inflateInit2_ through its size.
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

typedef struct {
  const void *data;
  size_t size;
  size_t position;
} ekn_zstd_input;

typedef struct {
  void *data;
  size_t size;
  size_t position;
} ekn_zstd_output;

enum { Z_OK_ = 0, Z_STREAM_END_ = 1, Z_BUF_ERROR_ = -5 };
enum { BROTLI_ERROR_ = 0, BROTLI_SUCCESS_ = 1 };

static struct {
  int (*init)(ekn_zstream *, int, const char *, int);
  int (*inflate)(ekn_zstream *, int);
  int (*reset)(ekn_zstream *);
  int (*end)(ekn_zstream *);
  const char *(*version)(void);
  bool available;
} zlib;

static struct {
  void *(*create)(void *, void *, void *);
  int (*run)(void *, size_t *, const uint8_t **, size_t *, uint8_t **, size_t *);
  void (*destroy)(void *);
  bool available;
} brotli;

static struct {
  void *(*create)(void);
  size_t (*run)(void *, ekn_zstd_output *, ekn_zstd_input *);
  unsigned (*is_error)(size_t);
  size_t (*destroy)(void *);
  bool available;
} zstd;

static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool resolve(void *library, void *slot, const char *name) {
  return (*(void **)slot = dlsym(library, name)) != NULL;
}

static void load(void) {
  void *library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
  zlib.available = library && resolve(library, &zlib.init, "inflateInit2_") &&
                   resolve(library, &zlib.inflate, "inflate") && resolve(library, &zlib.reset, "inflateReset") &&
                   resolve(library, &zlib.end, "inflateEnd") && resolve(library, &zlib.version, "zlibVersion");
  library = dlopen("libbrotlidec.so.1", RTLD_NOW | RTLD_LOCAL);
  brotli.available = library && resolve(library, &brotli.create, "BrotliDecoderCreateInstance") &&
                     resolve(library, &brotli.run, "BrotliDecoderDecompressStream") &&
                     resolve(library, &brotli.destroy, "BrotliDecoderDestroyInstance");
  library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
  zstd.available = library && resolve(library, &zstd.create, "ZSTD_createDStream") &&
                   resolve(library, &zstd.run, "ZSTD_decompressStream") &&
                   resolve(library, &zstd.is_error, "ZSTD_isError") &&
                   resolve(library, &zstd.destroy, "ZSTD_freeDStream");
}

bool ekn_codec_available(ekn_codec codec) {
  pthread_once(&once, load);
  switch (codec) {
    case EKN_CODEC_GZIP:
    case EKN_CODEC_DEFLATE: return zlib.available;
    case EKN_CODEC_BROTLI: return brotli.available;
    case EKN_CODEC_ZSTD: return zstd.available;
  }
  return false;
}

struct ekn_decoder {
  ekn_codec codec;
  bool started;  // deflate: whether zlib was set up, which takes the first byte
  bool ended;    // a complete stream was seen, and nothing after it
  ekn_zstream stream;
  void *state;
};

ekn_decoder *ekn_decoder_create(ekn_codec codec) {
  if (!ekn_codec_available(codec)) return NULL;
  ekn_decoder *decoder = calloc(1, sizeof *decoder);
  if (!decoder) return NULL;
  decoder->codec = codec;
  bool ok = true;
  switch (codec) {
    case EKN_CODEC_GZIP:
      ok = zlib.init(&decoder->stream, 15 + 16, zlib.version(), sizeof decoder->stream) == Z_OK_;
      decoder->started = ok;
      break;
    case EKN_CODEC_DEFLATE: break;
    case EKN_CODEC_BROTLI: ok = (decoder->state = brotli.create(NULL, NULL, NULL)) != NULL; break;
    case EKN_CODEC_ZSTD: ok = (decoder->state = zstd.create()) != NULL; break;
  }
  if (ok) return decoder;
  free(decoder);
  return NULL;
}

void ekn_decoder_free(ekn_decoder *decoder) {
  if (!decoder) return;
  if (decoder->started) zlib.end(&decoder->stream);
  if (decoder->state && decoder->codec == EKN_CODEC_BROTLI) brotli.destroy(decoder->state);
  if (decoder->state && decoder->codec == EKN_CODEC_ZSTD) zstd.destroy(decoder->state);
  free(decoder);
}

static ekn_decoder_status run_zlib(ekn_decoder *decoder, const uint8_t **input, size_t *input_length,
                                   uint8_t **output, size_t *output_length) {
  ekn_zstream *stream = &decoder->stream;
  if (!decoder->started) {
    if (*input_length == 0) return EKN_DECODER_MORE;
    // RFC 9110 §8.4.1.2: "deflate" is the zlib format, but some servers send a raw deflate stream. A zlib header's
    // first byte has 8 in its low half, which no encoder's raw stream begins with.
    int bits = (**input & 0x0f) == 8 ? 15 : -15;
    if (zlib.init(stream, bits, zlib.version(), sizeof *stream) != Z_OK_) return EKN_DECODER_CORRUPT;
    decoder->started = true;
  }
  unsigned in = *input_length > UINT_MAX ? UINT_MAX : (unsigned)*input_length;
  unsigned out = *output_length > UINT_MAX ? UINT_MAX : (unsigned)*output_length;
  stream->next_in = *input;
  stream->avail_in = in;
  stream->next_out = *output;
  stream->avail_out = out;
  int code = zlib.inflate(stream, 0);
  *input += in - stream->avail_in;
  *input_length -= in - stream->avail_in;
  *output += out - stream->avail_out;
  *output_length -= out - stream->avail_out;
  if (code == Z_STREAM_END_) return EKN_DECODER_END;
  return code == Z_OK_ || code == Z_BUF_ERROR_ ? EKN_DECODER_MORE : EKN_DECODER_CORRUPT;
}

// Whether more input may follow a complete stream: gzip (RFC 1952 §2.2) and zstd (RFC 8878 §3) are series of members.
static bool begin_next_member(ekn_decoder *decoder, uint8_t first_byte) {
  switch (decoder->codec) {
    case EKN_CODEC_GZIP: return first_byte == 0x1f && zlib.reset(&decoder->stream) == Z_OK_;
    case EKN_CODEC_ZSTD: return true;
    default: return false;
  }
}

static ekn_decoder_status run(ekn_decoder *decoder, const uint8_t **input, size_t *input_length, uint8_t **output,
                              size_t *output_length) {
  switch (decoder->codec) {
    case EKN_CODEC_GZIP:
    case EKN_CODEC_DEFLATE: return run_zlib(decoder, input, input_length, output, output_length);
    case EKN_CODEC_BROTLI: {
      int code = brotli.run(decoder->state, input_length, input, output_length, output, NULL);
      if (code == BROTLI_SUCCESS_) return EKN_DECODER_END;
      return code == BROTLI_ERROR_ ? EKN_DECODER_CORRUPT : EKN_DECODER_MORE;
    }
    case EKN_CODEC_ZSTD: {
      ekn_zstd_input in = {*input, *input_length, 0};
      ekn_zstd_output out = {*output, *output_length, 0};
      size_t code = zstd.run(decoder->state, &out, &in);
      *input += in.position;
      *input_length -= in.position;
      *output += out.position;
      *output_length -= out.position;
      if (zstd.is_error(code)) return EKN_DECODER_CORRUPT;
      return code == 0 ? EKN_DECODER_END : EKN_DECODER_MORE;
    }
  }
  return EKN_DECODER_CORRUPT;
}

ekn_decoder_status ekn_decoder_run(ekn_decoder *decoder, const uint8_t **input, size_t *input_length,
                                   uint8_t **output, size_t *output_length) {
  if (decoder->ended) {
    if (*input_length == 0) return EKN_DECODER_END;
    if (!begin_next_member(decoder, **input)) return EKN_DECODER_CORRUPT;
    decoder->ended = false;
  }
  ekn_decoder_status status = run(decoder, input, input_length, output, output_length);
  decoder->ended = status == EKN_DECODER_END;
  return status;
}

#endif
