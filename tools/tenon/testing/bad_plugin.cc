// A plugin that goes wrong in the way that its file's name says: "crash", "abort", "exit", "hang" while it is loaded,
// "chatter" prints and then is a plugin; "opencrash", "openexit" load and go wrong when a client is made.

#include <dlfcn.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tenon/abi/pjrt.h"

namespace {

// Whether this library's file is named so.
bool Named(std::string_view word) {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&Named), &info) == 0) return false;
  return std::string_view(info.dli_fname).find(word) != std::string_view::npos;
}

[[noreturn]] void Crash() {
  // What a wild pointer ends in, without the undefined behaviour that sanitizers would report instead.
  (void)std::signal(SIGSEGV, SIG_DFL);
  (void)std::raise(SIGSEGV);
  std::_Exit(1);
}

PJRT_Error* MakeClient(PJRT_Client_Create_Args*) {
  if (Named("opencrash")) (void)std::raise(SIGSEGV);
  std::exit(9);  // NOLINT(concurrency-mt-unsafe): the point.
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const PJRT_Api* GetPjrtApi() {
  static PJRT_Api api{};
  api.struct_size = PJRT_Api_STRUCT_SIZE;
  api.pjrt_api_version.struct_size = PJRT_Api_Version_STRUCT_SIZE;
  api.pjrt_api_version.major_version = PJRT_API_MAJOR;
  api.pjrt_api_version.minor_version = PJRT_API_MINOR;
  api.PJRT_Client_Create = &MakeClient;
  if (Named("_crash_")) Crash();
  if (Named("_abort_")) std::abort();
  if (Named("_exit_")) std::exit(7);  // NOLINT(concurrency-mt-unsafe)
  if (Named("_hang_")) {
    for (;;) pause();
  }
  if (Named("_chatter_")) {
    for (int i = 0; i < 100000; ++i) std::puts("{\"version\": \"nonsense\"}");
  }
  return &api;
}
