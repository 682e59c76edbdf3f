#include "tenon/trace/load.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>

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

std::string OwnFolder() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&LoadTracedApi), &info) == 0 || info.dli_fname == nullptr) return "";
  const std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == path.npos ? "." : path.substr(0, slash);
}

const PJRT_Api* Load() {
  const std::string plugin = Environment("TENON_TRACE_PLUGIN");
  if (plugin.empty()) {
    return FailingApi("the trace plugin wraps another one: set TENON_TRACE_PLUGIN to its file or name");
  }
  std::string reasons;
  for (const std::string& file : PluginCandidates(plugin, Environment("PJRT_PLUGIN_LIBRARY_PATH"), OwnFolder())) {
    if (file.find('/') != file.npos && access(file.c_str(), R_OK) != 0 && plugin.find('/') == plugin.npos) continue;
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

}  // namespace

std::vector<std::string> PluginCandidates(const std::string& plugin, const std::string& search_path,
                                          const std::string& own_folder) {
  if (plugin.find('/') != plugin.npos) return {plugin};
  const std::string names[] = {plugin, "pjrt_plugin_" + plugin + ".so", "pjrt_c_api_" + plugin + "_plugin.so",
                               "pjrt-plugin-" + plugin + ".so", "lib" + plugin + ".so"};
  std::vector<std::string> files;
  for (size_t from = 0; from < search_path.size();) {
    const size_t to = std::min(search_path.find(':', from), search_path.size());
    const std::string folder = search_path.substr(from, to - from);
    for (const std::string& name : names) {
      if (!folder.empty()) files.push_back(folder + "/" + name);
    }
    from = to + 1;
  }
  for (const std::string& name : names) {
    if (!own_folder.empty()) files.push_back(own_folder + "/" + name);
  }
  files.insert(files.end(), std::begin(names), std::end(names));
  return files;
}

TraceOptions OptionsFromEnvironment() {
  return {.file = WithProcessId(Environment("TENON_TRACE_FILE")),
          .text = WithProcessId(Environment("TENON_TRACE_TEXT")),
          .shield = Environment("TENON_TRACE_SHIELD") != "0",
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
