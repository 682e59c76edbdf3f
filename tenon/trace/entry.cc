// What the shared library exports: GetPjrtApi, for programs that load it as their plugin, and a dlsym that finds traced
// tables, for programs that it is preloaded into.

#include <dlfcn.h>

#include <array>
#include <mutex>
#include <utility>

#include "tenon/trace/call.h"
#include "tenon/trace/load.h"
#include "tenon/trace/recorder.h"

namespace tenon::trace {
namespace {

void Start() {
  static const bool once = [] {
    TraceOptions options = OptionsFromEnvironment();
    if (!options.file.empty() || !options.text.empty() || !options.capture.empty()) StartTrace(std::move(options));
    return true;
  }();
  (void)once;
}

// Runs when the process ends, after everything else that it registered: objects that are there then have leaked.
__attribute__((destructor)) void Stop() { StopTrace(); }

// Plugins whose GetPjrtApi was looked up, each with a function in its place.
constexpr int kMostPlugins = kMaxTables;
std::mutex mutex;
PJRT_GetPjrtApi_Function real_functions[kMostPlugins];

template <int kPlugin>
const PJRT_Api* TracedGetPjrtApi() {
  const PJRT_Api* api = real_functions[kPlugin]();
  if (api == nullptr) return nullptr;
  Start();
  return TraceApi(api);
}

template <size_t... kPlugins>
constexpr std::array<PJRT_GetPjrtApi_Function, kMostPlugins> MakeReplacements(std::index_sequence<kPlugins...>) {
  return {&TracedGetPjrtApi<kPlugins>...};
}
constexpr auto kReplacements = MakeReplacements(std::make_index_sequence<kMostPlugins>());

}  // namespace
}  // namespace tenon::trace

extern "C" __attribute__((visibility("default"))) const PJRT_Api* GetPjrtApi() {
  tenon::trace::Start();
  return tenon::trace::LoadTracedApi();
}

namespace tenon::trace {
namespace {

void* FindGetPjrtApi(void* handle, const char* name) {
  void* found = RealDlsym()(handle, name);
  auto* function = reinterpret_cast<PJRT_GetPjrtApi_Function>(found);
  if (found == nullptr || function == &GetPjrtApi) return found;
  const std::lock_guard lock(mutex);
  for (int i = 0; i < kMostPlugins; ++i) {
    if (real_functions[i] == nullptr) real_functions[i] = function;
    if (real_functions[i] == function) return reinterpret_cast<void*>(kReplacements[i]);
  }
  return found;
}

DlsymFunction FinderOf(const char* name) {
  const bool names_the_plugin = name != nullptr && std::string_view(name) == "GetPjrtApi";
  return names_the_plugin ? &FindGetPjrtApi : RealDlsym();
}

}  // namespace
}  // namespace tenon::trace

// Symbols are searched relative to the caller, so the real function must see the caller's address: a jump, not a call.
// Compilers that cannot be made to promise it are told to optimise such calls, whatever the build's own level.
#if defined(__has_cpp_attribute) && __has_cpp_attribute(clang::musttail)
#define TENON_TAIL_CALLER
#define TENON_TAIL [[clang::musttail]]
#elif defined(__has_cpp_attribute) && __has_cpp_attribute(gnu::musttail)
#define TENON_TAIL_CALLER
#define TENON_TAIL [[gnu::musttail]]
#else
#define TENON_TAIL_CALLER __attribute__((optimize("O2", "optimize-sibling-calls")))
#define TENON_TAIL
#endif

// The name is given to the assembler only: the declaration in <dlfcn.h> is, which would need a frame.
extern "C" __attribute__((visibility("default"))) void* tenon_dlsym(void* handle, const char* name) __asm__("dlsym");
extern "C" TENON_TAIL_CALLER void* tenon_dlsym(void* handle, const char* name) {
  TENON_TAIL return tenon::trace::FinderOf(name)(handle, name);
}
