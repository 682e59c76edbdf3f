// The smallest plugin that runs JAX: one device in host memory, programs run by the evaluator. What is here is what a
// device vendor writes; the rest of PJRT is tenon/plugin's.

#include <memory>
#include <vector>

#include "tenon/plugin/plugin.h"
#include "tenon/reference/reference.h"

namespace {

using namespace tenon;          // NOLINT(google-build-using-namespace): a main program.
using namespace tenon::plugin;  // NOLINT(google-build-using-namespace)

// The bytes of a result. The evaluator may share them with an argument; then nobody may write to them.
class ValueStorage final : public Storage {
 public:
  explicit ValueStorage(reference::Value value)
      : Storage(value.mutable_bytes(), static_cast<size_t>(value.size_bytes()), value.unique()),
        value_(std::move(value)) {}

 private:
  reference::Value value_;
};

class MinimalExecutable final : public LoadedExecutable {
 public:
  MinimalExecutable(Ref<Client> client, ExecutableInfo info, DeviceAssignment assignment,
                    std::unique_ptr<reference::Program> program)
      : LoadedExecutable(std::move(client), MakeRef<Executable>(std::move(info)), std::move(assignment)),
        program_(std::move(program)) {}

  Status Execute(ExecuteRequest& request) override {
    DeviceExecution& device = request.devices[0];
    std::vector<reference::Value> arguments;
    for (size_t i = 0; i < device.arguments.size(); ++i) {
      const Argument& argument = device.arguments[i];
      TENON_RETURN_IF_ERROR(argument.ready.Wait());
      const Shape& shape = info().parameters[i].array.shape;
      if (shape.dtype == DType::kToken) {
        arguments.push_back(reference::Value::Token());
        continue;
      }
      // The view keeps the bytes as long as a result shares them.
      auto owner = std::make_shared<Ref<Storage>>(argument.storage);
      arguments.push_back(reference::Value::View(shape, argument.storage->data(), owner));
    }
    TENON_ASSIGN_OR_RETURN(std::vector<reference::Value> results, program_->Run(arguments));
    for (size_t i = 0; i < results.size(); ++i) {
      const ArraySpec& spec = info().outputs[i].array;
      device.outputs[i] = Buffer::Make(device.device, device.device->default_memory(), spec,
                                       MakeRef<ValueStorage>(std::move(results[i])));
    }
    return OkStatus();
  }

 private:
  std::unique_ptr<reference::Program> program_;
};

class MinimalClient final : public Client {
 public:
  MinimalClient() : Client({.platform_name = "cpu", .platform_version = "Tenon's minimal example"}) {
    DeviceDescription::Info info;
    info.kind = "cpu";
    info.memory_kinds = {MakeMemoryKind(kDeviceMemoryKind)};
    info.default_memory_kind = 0;
    Device* device =
        AddDevice(std::make_unique<Device>(std::make_shared<DeviceDescription>(info), /*local_hardware_id=*/0));
    AddMemory(std::make_unique<Memory>(0, info.memory_kinds[0]), {&device, 1}, /*is_default=*/true);
    Ready();
  }

  Result<Ref<LoadedExecutable>> Compile(const plugin::Program& program, const CompileOptions& options,
                                        const DeviceAssignment& assignment) override {
    TENON_ASSIGN_OR_RETURN(std::unique_ptr<reference::Program> loaded, reference::Program::Load(program.code));
    ExecutableInfo info;
    info.name = loaded->name();
    info.compile_options = options.serialized;
    for (const Shape& shape : loaded->inputs()) info.parameters.push_back(ValueSpec{.array = {.shape = shape}});
    for (const Shape& shape : loaded->outputs()) info.outputs.push_back(ValueSpec{.array = {.shape = shape}});
    return Ref<LoadedExecutable>(
        MakeRef<MinimalExecutable>(Ref<Client>(this), std::move(info), assignment, std::move(loaded)));
  }
  bool AcceptsFormat(std::string_view format) const override { return format == "mlir"; }
};

class MinimalPlugin final : public Plugin {
 public:
  Result<Ref<Client>> CreateClient(ClientOptions) override { return Ref<Client>(MakeRef<MinimalClient>()); }
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const PJRT_Api* GetPjrtApi() {
  static MinimalPlugin& plugin = *new MinimalPlugin;  // Objects may outlive the library's destructors.
  return MakeApi(plugin);
}
