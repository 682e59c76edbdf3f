#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "tenon/conformance/against/against.h"
#include "tenon/conformance/against/wire.h"
#include "tenon/conformance/child.h"
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
  const auto give_up = [&](const Status& status) {
    SendAnswer(result_fd, {status, {}});
    return 2;
  };
  const Result<LoadedPlugin> loaded = LoadInChild(plugin, profile_text);
  if (!loaded.ok()) return give_up(loaded.status());
  Env env(loaded->api, loaded->library, plugin, &loaded->profile);
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
