#include "tenon/conformance/child.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>

namespace tenon::conformance {
namespace {

constexpr int kResultFd = 9;  // The child's.

}  // namespace

pid_t StartChild(const std::string& program, const char* mode, const std::string& plugin, const std::string& profile,
                 const ChildFiles& files, char* const* environment) {
  const std::string fd = std::to_string(kResultFd);
  const char* argv[] = {program.c_str(), mode, plugin.c_str(), fd.c_str(), profile.c_str(), nullptr};
  const pid_t pid = fork();
  if (pid != 0) return pid;
  dup2(files.input, 0);
  dup2(files.output, 1);
  dup2(files.errors, 2);
  if (files.results == kResultFd)
    fcntl(files.results, F_SETFD, 0);
  else
    dup2(files.results, kResultFd);
  execve(argv[0], const_cast<char* const*>(argv), environment);
  _exit(127);
}

Result<LoadedPlugin> LoadInChild(const std::string& plugin, const std::string& profile_text) {
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  LoadedPlugin loaded;
  TENON_ASSIGN_OR_RETURN(loaded.profile, ParseProfile(profile_text));
  for (const std::string& env : loaded.profile.env) {
    const size_t equals = env.find('=');
    setenv(env.substr(0, equals).c_str(), env.substr(equals + 1).c_str(), /*overwrite=*/0);
  }
  loaded.library = dlopen(plugin.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded.library == nullptr) return NotFound(dlerror());
  const auto get_api = reinterpret_cast<PJRT_GetPjrtApi_Function>(dlsym(loaded.library, "GetPjrtApi"));
  if (get_api == nullptr) return NotFound("the library has no GetPjrtApi");
  loaded.api = get_api();
  if (loaded.api == nullptr) return NotFound("GetPjrtApi returned NULL");
  return loaded;
}

}  // namespace tenon::conformance
