#include "tenon/trace/load.h"

#include <dlfcn.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>

#include "tenon/discovery/discovery.h"
#include "tenon/trace/call.h"

// The symbol of the plugin; in the shared library only.
extern "C" __attribute__((weak)) const PJRT_Api* GetPjrtApi();

namespace tenon::trace {
namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string WithProcessId(std::string path) {
  for (size_t at; (at = path.find("%p")) != path.npos;) path.replace(at, 2, std::to_string(getpid()));
  return path;
}

/// The files that `plugin` may mean, in the order in which they are tried.
std::vector<std::string> FilesOf(const std::string& plugin) {
  if (discovery::IsFile(plugin)) return {plugin.find('/') == plugin.npos ? "./" + plugin : plugin};
  std::vector<std::string> files;
  for (const discovery::PluginFile& file : discovery::FilesNamed(plugin)) files.push_back(file.path);
  return files;
}

const PJRT_Api* Load() {
  const std::string plugin = Environment("TENON_TRACE_PLUGIN");
  if (plugin.empty()) {
    return FailingApi("the trace plugin wraps another one: set TENON_TRACE_PLUGIN to its file or name");
  }
  std::string reasons;
  const std::vector<std::string> files = FilesOf(plugin);
  if (files.empty()) reasons = "; " + discovery::DescribeSearch();
  for (const std::string& file : files) {
    void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* reason = dlerror();
      reasons += std::string("; ") + (reason != nullptr ? reason : file.c_str());
      continue;
    }
    auto* get = reinterpret_cast<PJRT_GetPjrtApi_Function>(RealDlsym()(library, "GetPjrtApi"));
    if (get == nullptr) {
      reasons += "; " + file + " has no GetPjrtApi";
      continue;
    }
    if (get == &GetPjrtApi) {
      reasons += "; " + file + " is the trace plugin itself";
      continue;
    }
    const PJRT_Api* api = get();
    if (api == nullptr) {
      reasons += "; GetPjrtApi of " + file + " returned NULL";
      continue;
    }
    return TraceApi(api);
  }
  return FailingApi("cannot trace TENON_TRACE_PLUGIN=" + plugin + reasons);
}

// A number of MiB in bytes; `otherwise` where the variable is not a number.
uint64_t Mebibytes(const char* name, uint64_t otherwise) {
  const std::string text = Environment(name);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good = error == std::errc() && end == text.data() + text.size() && value < uint64_t{1} << 40;
  return (good ? value : otherwise) << 20;
}

}  // namespace

TraceOptions OptionsFromEnvironment() {
  return {.file = WithProcessId(Environment("TENON_TRACE_FILE")),
          .text = WithProcessId(Environment("TENON_TRACE_TEXT")),
          .shield = Environment("TENON_TRACE_SHIELD") != "0",
          .capture = WithProcessId(Environment("TENON_TRACE_CAPTURE")),
          .capture_limit = Mebibytes("TENON_TRACE_CAPTURE_MIB", 1024),
          .limit = Mebibytes("TENON_TRACE_LIMIT_MIB", 0),
          .follow_events = Environment("TENON_TRACE_EVENTS") != "0",
          .ask_sizes = Environment("TENON_TRACE_SIZES") != "0"};
}

const PJRT_Api* LoadTracedApi() {
  static const PJRT_Api* const api = Load();
  return api;
}

DlsymFunction RealDlsym() {
  static const DlsymFunction real = [] {
    void* found = nullptr;
    // The versions under which C libraries of our architectures have it.
    for (const char* version : {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"}) {
      if (found == nullptr) found = dlvsym(RTLD_NEXT, "dlsym", version);
    }
    return reinterpret_cast<DlsymFunction>(found);
  }();
  return real;
}

}  // namespace tenon::trace
