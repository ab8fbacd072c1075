// Content codings (RFC 9110 §8.4.1), each decoded by the system's own library, opened at run time: zlib for gzip and
// deflate, libbrotlidec for br, libzstd for zstd. libcurl's own decoding is not used: it accepts a truncated gzip as
// complete, and keeps up to 64 MiB of inflated data while its receiver is paused.
#ifndef EKN_CODEC_H
#define EKN_CODEC_H

#if defined(__linux__)

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum { EKN_CODEC_GZIP, EKN_CODEC_DEFLATE, EKN_CODEC_BROTLI, EKN_CODEC_ZSTD } ekn_codec;

typedef enum {
  EKN_DECODER_MORE,     // needs input, or space for output
  EKN_DECODER_END,      // a complete stream: the body may end here; a next member may follow where the format allows
  EKN_DECODER_CORRUPT,
} ekn_decoder_status;

typedef struct ekn_decoder ekn_decoder;

bool ekn_codec_available(ekn_codec codec);

// NULL if the codec is not available or memory is exhausted.
ekn_decoder *ekn_decoder_create(ekn_codec codec);
void ekn_decoder_free(ekn_decoder *decoder);

// Decodes until the input is used up or the output is full; advances both pointers and lengths.
ekn_decoder_status ekn_decoder_run(ekn_decoder *decoder, const uint8_t **input, size_t *input_length,
                                   uint8_t **output, size_t *output_length);

#endif
#endif
