#include <dlfcn.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "tenon/conformance/against/against.h"
#include "tenon/conformance/against/wire.h"
#include "tenon/conformance/env.h"

namespace tenon::conformance {
namespace {

PJRT_Buffer_Type BufferType(DType type) {
  switch (type) {
    case DType::kF64:
      return PJRT_Buffer_Type_F64;
    case DType::kF32:
      return PJRT_Buffer_Type_F32;
    case DType::kF16:
      return PJRT_Buffer_Type_F16;
    case DType::kBF16:
      return PJRT_Buffer_Type_BF16;
    case DType::kS32:
      return PJRT_Buffer_Type_S32;
    case DType::kS64:
      return PJRT_Buffer_Type_S64;
    default:
      return PJRT_Buffer_Type_U8;
  }
}

Answer RunCase(Env& env, const Case& of) {
  Answer answer;
  try {
    Result<Loaded> loaded = env.TryCompile(of.program);
    if (!loaded.ok()) return {loaded.status(), {}};
    std::vector<Buffer> arguments;
    std::vector<PJRT_Buffer*> pointers;
    for (const Case::Argument& a : of.arguments) {
      arguments.push_back(
          env.Upload(BufferType(a.shape.dtype), a.bytes.data(), Dims(a.shape.dims.begin(), a.shape.dims.end())));
      pointers.push_back(arguments.back().get());
    }
    for (const Buffer& output : env.Execute(*loaded, pointers)) {
      const Bytes bytes = env.Download(output.get());
      answer.outputs.emplace_back(bytes.begin(), bytes.end());
    }
  } catch (const Stop& stop) {
    const Code code = stop.observed == Observed::kUnimplemented ? Code::kUnimplemented : Code::kInternal;
    return {Status(code, stop.message), {}};
  }
  return answer;
}

}  // namespace

int RunAgainstWorker(const std::string& plugin, int result_fd, const std::string& profile_text) {
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const auto give_up = [&](const Status& status) {
    SendAnswer(result_fd, {status, {}});
    return 2;
  };
  Result<Profile> profile = ParseProfile(profile_text);
  if (!profile.ok()) return give_up(profile.status());
  for (const std::string& env : profile->env) {
    const size_t equals = env.find('=');
    setenv(env.substr(0, equals).c_str(), env.substr(equals + 1).c_str(), /*overwrite=*/0);
  }
  void* library = dlopen(plugin.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return give_up(NotFound(dlerror()));
  const auto get_api = reinterpret_cast<PJRT_GetPjrtApi_Function>(dlsym(library, "GetPjrtApi"));
  const PJRT_Api* api = get_api == nullptr ? nullptr : get_api();
  if (api == nullptr) return give_up(NotFound(plugin + " has no GetPjrtApi, or it gave NULL"));
  Env env(api, library, plugin, &*profile);
  // Says that it is there.
  if (const Status status = env.ClientStatus(); !status.ok()) return give_up(status);
  if (env.devices().empty()) return give_up(NotFound(plugin + " has no device"));
  if (!SendAnswer(result_fd, {})) return 2;
  for (std::string line; std::getline(std::cin, line);) {
    const Result<Case> made = MakeCase(std::strtoull(line.c_str(), nullptr, 10));
    if (!SendAnswer(result_fd, made.ok() ? RunCase(env, *made) : Answer{made.status(), {}})) return 2;
  }
  // Static destructors of plugins are theirs to survive, but not what this is about.
  _exit(0);
}

}  // namespace tenon::conformance
