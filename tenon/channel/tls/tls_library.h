#pragma once

/// What libtenon_tls.so exports, in C: encryption and proofs of identity for connections between machines. It stands in
/// a library of its own so that only who connects to other machines needs OpenSSL. Functions that can fail write why to
/// `error` (of TENON_TLS_ERROR_BYTES) and return a PJRT_Error_Code; 0 is success. A stream is used by one thread at a
/// time.

#include <stddef.h>
#include <stdint.h>

#define TENON_TLS_VERSION 2
#define TENON_TLS_ERROR_BYTES 512
#define TENON_TLS_PROOF_BYTES 32

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TenonTlsContext TenonTlsContext;
typedef struct TenonTlsStream TenonTlsStream;

/* Files in PEM; empty where there is none. A server without a certificate makes one that lives as long as it does and
   proves nothing: peers must then prove that they know a token. */
typedef struct TenonTlsConfig {
  int32_t is_server;
  const char* certificate;
  const char* key;
  const char* authority;  /* the peer's certificate must be signed by it; empty: the peer's is not looked at */
  uint64_t bytes_per_key; /* 0: as many as the ciphers are good for */
} TenonTlsConfig;

/* What read, write and handshake give besides bytes moved. */
#define TENON_TLS_WANTS_READ -1
#define TENON_TLS_WANTS_WRITE -2
#define TENON_TLS_CLOSED -3
#define TENON_TLS_FAILED -4

typedef struct TenonTlsTable {
  int32_t version;
  int (*make_context)(const TenonTlsConfig* config, TenonTlsContext** context, char* error);
  void (*free_context)(TenonTlsContext* context);
  /* `fd` does not block and stays the caller's. `host`: what a client's peer must be certified as; empty: not checked.
   */
  int (*make_stream)(TenonTlsContext* context, int fd, const char* host, TenonTlsStream** stream, char* error);
  void (*free_stream)(TenonTlsStream* stream);
  /* 1 when done. */
  int64_t (*handshake)(TenonTlsStream* stream, char* error);
  int64_t (*read)(TenonTlsStream* stream, void* bytes, size_t size, char* error);
  int64_t (*write)(TenonTlsStream* stream, const void* bytes, size_t size, char* error);
  /* HMAC-SHA256 under `key` of a secret that only the two ends of this very connection know, made for `label`. */
  int (*proof)(TenonTlsStream* stream, const void* key, size_t key_size, const char* label, void* proof, char* error);
  /* The subject of the peer's certificate, cut to `size`; empty when it showed none. */
  void (*peer_name)(TenonTlsStream* stream, char* name, size_t size);
  int (*random_bytes)(void* bytes, size_t size, char* error);
  /* How many keys this end has written under. */
  uint64_t (*keys)(const TenonTlsStream* stream);
} TenonTlsTable;

/* Null for a version that the library does not know. Lives as long as the library. */
typedef const TenonTlsTable* TenonTlsCreate(int32_t version);
#define TENON_TLS_SYMBOL "tenon_tls_create"

#ifdef __cplusplus
}
#endif
