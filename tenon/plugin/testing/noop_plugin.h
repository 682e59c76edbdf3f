#pragma once

// A plugin whose device does nothing, and how the benchmarks call it: what is left is what the layers above the device
// cost.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "tenon/plugin/plugin.h"

namespace tenon::plugin::testing {

class NoopExecutable final : public LoadedExecutable {
 public:
  using LoadedExecutable::LoadedExecutable;
  Status Execute(ExecuteRequest& request) override {
    DeviceExecution& device = request.devices[0];
    device.outputs[0] = Buffer::Make(device.device, device.device->default_memory(), info().outputs[0].array,
                                     device.arguments[0].storage);
    return OkStatus();
  }
};

class NoopClient final : public Client {
 public:
  NoopClient() : Client({.platform_name = "noop", .platform_version = "noop"}) {
    Device* device =
        AddDevice(std::make_unique<Device>(std::make_shared<DeviceDescription>(DeviceDescription::Info()), 0));
    AddMemory(std::make_unique<Memory>(0, MakeMemoryKind(kDeviceMemoryKind)), {&device, 1}, true);
    Ready();
  }
  Result<Ref<LoadedExecutable>> Compile(const Program&, const CompileOptions&,
                                        const DeviceAssignment& assignment) override {
    const ValueSpec value{.array = {.shape = {DType::kF32, {16}}}};
    ExecutableInfo info;
    info.parameters = {value, value};
    info.outputs = {value};
    return Ref<LoadedExecutable>(
        MakeRef<NoopExecutable>(Ref<Client>(this), MakeRef<Executable>(std::move(info)), assignment));
  }
};

class NoopPlugin final : public Plugin {
 public:
  Result<Ref<Client>> CreateClient(ClientOptions) override { return Ref<Client>(MakeRef<NoopClient>()); }
};

#define NOOP_ARGS(function, name)      \
  function##_Args name;                \
  std::memset(&name, 0, sizeof(name)); \
  name.struct_size = function##_Args_STRUCT_SIZE

// Any error ends the program: there is nothing to measure then.
inline void Check(PJRT_Error* error) {
  if (error == nullptr) return;
  const char* text = nullptr;
  size_t size = 0;
  error->vtable->message(error, &text, &size);
  std::fprintf(stderr, "%.*s\n", static_cast<int>(size), text);
  std::exit(1);
}

}  // namespace tenon::plugin::testing
