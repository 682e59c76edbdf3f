// A plugin through its C interface: no more of it than checking takes.

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>

#include "tenon/abi/pjrt.h"
#include "tools/tenon-check/runner.h"

namespace tenon::check_tool {
namespace {

// Arguments of one call, zeroed, with their size set.
template <class Args>
Args Make(size_t size) {
  Args args{};
  args.struct_size = size;
  return args;
}
#define TENON_ARGS(type) Make<type>(type##_STRUCT_SIZE)

// num_replicas 1, num_partitions 1: the least that a plugin accepts.
constexpr char kCompileOptions[] = {0x1a, 0x04, 0x20, 0x01, 0x28, 0x01};

class PluginRunner : public Runner {
 public:
  explicit PluginRunner(const PJRT_Api* api) : api_(api) {}
  ~PluginRunner() override {
    if (client_ == nullptr) return;
    auto args = TENON_ARGS(PJRT_Client_Destroy_Args);
    args.client = client_;
    (void)ToStatus(api_->PJRT_Client_Destroy(&args));
  }

  Status Open() {
    auto initialize = TENON_ARGS(PJRT_Plugin_Initialize_Args);
    TENON_RETURN_IF_ERROR(ToStatus(api_->PJRT_Plugin_Initialize(&initialize)));
    auto create = TENON_ARGS(PJRT_Client_Create_Args);
    TENON_RETURN_IF_ERROR(ToStatus(api_->PJRT_Client_Create(&create)));
    client_ = create.client;
    // Programs are written in the newest version that the plugin says it reads.
    auto attributes = TENON_ARGS(PJRT_Plugin_Attributes_Args);
    TENON_RETURN_IF_ERROR(ToStatus(api_->PJRT_Plugin_Attributes(&attributes)));
    for (size_t i = 0; i < attributes.num_attributes; ++i) {
      const PJRT_NamedValue& value = attributes.attributes[i];
      if (std::string_view(value.name, value.name_size) != "stablehlo_current_version" || value.value_size != 3)
        continue;
      const auto number = [&](int part) { return static_cast<int32_t>(value.int64_array_value[part]); };
      version_ = std::min(version_, dialect::Version{number(0), number(1), number(2)});
    }
    return OkStatus();
  }

  Result<std::vector<reference::Value>> Run(Program& program, std::span<const reference::Value> args) override {
    std::string code;
    if (auto artifact = dialect::Serialize(program.module.op(), version_); artifact.ok()) {
      code = *std::move(artifact);
    } else {
      code = dialect::ToText(program.module.op());
    }
    auto source = TENON_ARGS(PJRT_Program);
    source.code = code.data();
    source.code_size = code.size();
    source.format = "mlir";
    source.format_size = 4;
    auto compile = TENON_ARGS(PJRT_Client_Compile_Args);
    compile.client = client_;
    compile.program = &source;
    compile.compile_options = kCompileOptions;
    compile.compile_options_size = sizeof kCompileOptions;
    TENON_RETURN_IF_ERROR(ToStatus(api_->PJRT_Client_Compile(&compile)));
    auto results = Execute(compile.executable, program, args);
    auto destroy = TENON_ARGS(PJRT_LoadedExecutable_Destroy_Args);
    destroy.executable = compile.executable;
    TENON_RETURN_IF_ERROR(ToStatus(api_->PJRT_LoadedExecutable_Destroy(&destroy)));
    return results;
  }

 private:
  Status ToStatus(PJRT_Error* error) const {
    if (error == nullptr) return OkStatus();
    auto message = TENON_ARGS(PJRT_Error_Message_Args);
    message.error = error;
    api_->PJRT_Error_Message(&message);
    auto code = TENON_ARGS(PJRT_Error_GetCode_Args);
    code.error = error;
    PJRT_Error* second = api_->PJRT_Error_GetCode(&code);
    Status status(second == nullptr ? static_cast<Code>(code.code) : Code::kUnknown,
                  std::string(message.message, message.message_size));
    for (PJRT_Error* e : {error, second}) {
      if (e == nullptr) continue;
      auto destroy = TENON_ARGS(PJRT_Error_Destroy_Args);
      destroy.error = e;
      api_->PJRT_Error_Destroy(&destroy);
    }
    return status;
  }

  Status Await(PJRT_Event* event) const {
    if (event == nullptr) return OkStatus();
    auto await = TENON_ARGS(PJRT_Event_Await_Args);
    await.event = event;
    Status status = ToStatus(api_->PJRT_Event_Await(&await));
    auto destroy = TENON_ARGS(PJRT_Event_Destroy_Args);
    destroy.event = event;
    Status destroyed = ToStatus(api_->PJRT_Event_Destroy(&destroy));
    return status.ok() ? destroyed : status;
  }

  Status Destroy(PJRT_Buffer* buffer) const {
    auto destroy = TENON_ARGS(PJRT_Buffer_Destroy_Args);
    destroy.buffer = buffer;
    return ToStatus(api_->PJRT_Buffer_Destroy(&destroy));
  }

  // The value on the plugin's first device. `value` must live until the buffer is gone.
  Result<PJRT_Buffer*> Upload(const reference::Value& value) const {
    auto devices = TENON_ARGS(PJRT_Client_AddressableDevices_Args);
    devices.client = client_;
    TENON_RETURN_IF_ERROR(ToStatus(api_->PJRT_Client_AddressableDevices(&devices)));
    if (devices.num_addressable_devices == 0) return FailedPrecondition("the plugin has no device");
    auto upload = TENON_ARGS(PJRT_Client_BufferFromHostBuffer_Args);
    upload.client = client_;
    upload.data = value.bytes();
    upload.type = static_cast<PJRT_Buffer_Type>(value.dtype());
    upload.dims = value.dims().data();
    upload.num_dims = value.rank();
    upload.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
    upload.device = devices.addressable_devices[0];
    TENON_RETURN_IF_ERROR(ToStatus(api_->PJRT_Client_BufferFromHostBuffer(&upload)));
    TENON_RETURN_IF_ERROR(Await(upload.done_with_host_buffer));
    return upload.buffer;
  }

  Result<std::vector<reference::Value>> Execute(PJRT_LoadedExecutable* executable, const Program& program,
                                                std::span<const reference::Value> args) const {
    std::vector<PJRT_Buffer*> inputs;
    for (const reference::Value& arg : args) {
      TENON_ASSIGN_OR_RETURN(PJRT_Buffer * buffer, Upload(arg));
      inputs.push_back(buffer);
    }
    auto results = ExecuteOn(executable, program, inputs);
    for (PJRT_Buffer* input : inputs) TENON_RETURN_IF_ERROR(Destroy(input));
    return results;
  }

  Result<std::vector<reference::Value>> ExecuteOn(PJRT_LoadedExecutable* executable, const Program& program,
                                                  const std::vector<PJRT_Buffer*>& inputs) const {
    std::vector<PJRT_Buffer*> buffers(program.results.size(), nullptr);
    PJRT_Buffer** output_list = buffers.data();
    PJRT_Buffer* const* argument_list = inputs.data();
    PJRT_Event* complete = nullptr;
    auto options = TENON_ARGS(PJRT_ExecuteOptions);
    auto execute = TENON_ARGS(PJRT_LoadedExecutable_Execute_Args);
    execute.executable = executable;
    execute.options = &options;
    execute.argument_lists = &argument_list;
    execute.num_devices = 1;
    execute.num_args = inputs.size();
    execute.output_lists = &output_list;
    execute.device_complete_events = &complete;
    TENON_RETURN_IF_ERROR(ToStatus(api_->PJRT_LoadedExecutable_Execute(&execute)));
    Status status = Await(complete);
    std::vector<reference::Value> values;
    for (size_t i = 0; i < buffers.size(); ++i) {
      if (status.ok()) {
        auto value = Fetch(buffers[i], program.results[i]);
        if (value.ok()) values.push_back(*std::move(value));
        status = value.status();
      }
      Status destroyed = Destroy(buffers[i]);
      if (status.ok()) status = destroyed;
    }
    if (!status.ok()) return status;
    return values;
  }

  Result<reference::Value> Fetch(PJRT_Buffer* buffer, const Shape& shape) const {
    TENON_ASSIGN_OR_RETURN(reference::Value value, reference::Value::Allocate(shape));
    // Row-major, whatever the layout on the device.
    std::vector<int64_t> minor_to_major;
    for (size_t d = shape.rank(); d-- > 0;) minor_to_major.push_back(static_cast<int64_t>(d));
    auto layout = TENON_ARGS(PJRT_Buffer_MemoryLayout);
    layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
    layout.tiled.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE;
    layout.tiled.minor_to_major = minor_to_major.data();
    layout.tiled.minor_to_major_size = minor_to_major.size();
    auto to_host = TENON_ARGS(PJRT_Buffer_ToHostBuffer_Args);
    to_host.src = buffer;
    to_host.host_layout = &layout;
    to_host.dst = value.mutable_bytes();
    to_host.dst_size = static_cast<size_t>(value.size_bytes());
    TENON_RETURN_IF_ERROR(ToStatus(api_->PJRT_Buffer_ToHostBuffer(&to_host)));
    TENON_RETURN_IF_ERROR(Await(to_host.event));
    return value;
  }

  const PJRT_Api* api_;
  PJRT_Client* client_ = nullptr;
  dialect::Version version_ = dialect::kCurrentVersion;
};

}  // namespace

Result<std::unique_ptr<Runner>> MakePluginRunner(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return NotFound(fmt::format("the plugin cannot be loaded: {}", dlerror()));
  auto get_api = reinterpret_cast<PJRT_GetPjrtApi_Function>(dlsym(library, "GetPjrtApi"));
  if (get_api == nullptr) return NotFound(fmt::format("{} has no GetPjrtApi", path));
  auto runner = std::make_unique<PluginRunner>(get_api());
  TENON_RETURN_IF_ERROR(runner->Open());
  return std::unique_ptr<Runner>(std::move(runner));
}

}  // namespace tenon::check_tool
