#pragma once

/// What an engine in a shared library of its own exports, in C: the library may be built with other headers and another
/// C++ library than the plugin. Texts end with NUL; errors are written to `error` (of TENON_ENGINE_ERROR_BYTES).

#include <stddef.h>
#include <stdint.h>

#define TENON_ENGINE_VERSION 1
#define TENON_ENGINE_ERROR_BYTES 512

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TenonEngineChannel TenonEngineChannel;

typedef struct TenonEnginePart {
  int32_t peer;
  void* data; /* read only in sends */
  size_t bytes;
} TenonEnginePart;

/* Codes are those of PJRT_Error_Code; 0 is success. */
typedef struct TenonEngineStore {
  void* self;
  int (*put)(void* self, const char* key, const char* value, size_t value_bytes);
  /* Writes a malloc'ed value. */
  int (*get)(void* self, const char* key, int64_t timeout_ms, char** value, size_t* value_bytes);
} TenonEngineStore;

typedef struct TenonEngineMeeting {
  int32_t self;
  int32_t size;
  const char* key;
  const char* address; /* empty: the engine's own choice */
  int64_t timeout_ms;
  TenonEngineStore store;
} TenonEngineMeeting;

typedef struct TenonEngineTable {
  int32_t version;
  const char* name;
  int (*connect)(const TenonEngineMeeting* meeting, TenonEngineChannel** channel, char* error);
  int (*exchange)(TenonEngineChannel* channel, const TenonEnginePart* sends, size_t num_sends,
                  const TenonEnginePart* receives, size_t num_receives, int64_t timeout_ms, char* error);
  void (*abort)(TenonEngineChannel* channel);
  void (*destroy)(TenonEngineChannel* channel);
} TenonEngineTable;

/* Null for a version that the library does not know. Lives as long as the library. */
typedef const TenonEngineTable* TenonEngineCreate(int32_t version);
#define TENON_ENGINE_SYMBOL "tenon_engine_create"

#ifdef __cplusplus
}
#endif
