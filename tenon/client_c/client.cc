#include "tenon/client/discovery.h"
#include "tenon/client_c/internal/handles.h"

using tenon::InvalidArgument;
using tenon::OkStatus;
using tenon::Result;
using tenon::Status;
using tenon::client_c::Guard;
using tenon::client_c::NotNull;

namespace {

// Calls `get`, a Result of a string, and hands that out.
template <class F>
tenon_status* GiveText(const char* function, const void* handle, tenon_bytes** out, F&& get) {
  return Guard(function, [&]() -> Status {
    TENON_RETURN_IF_ERROR(NotNull(handle, out));
    *out = nullptr;
    TENON_ASSIGN_OR_RETURN(std::string text, get());
    *out = new tenon_bytes{std::move(text)};
    return OkStatus();
  });
}

}  // namespace

//===--- Plugins ---===//

tenon_status* tenon_plugin_load(const char* name_or_path, tenon_plugin** out) {
  return Guard("tenon_plugin_load", [&]() -> Status {
    TENON_RETURN_IF_ERROR(NotNull(out));
    *out = nullptr;
    TENON_ASSIGN_OR_RETURN(tenon::client::Plugin plugin,
                           tenon::client::Plugin::Load(name_or_path == nullptr ? "" : name_or_path));
    std::string version = plugin.version();
    *out = new tenon_plugin{std::move(plugin), std::move(version)};
    return OkStatus();
  });
}
void tenon_plugin_free(tenon_plugin* plugin) { delete plugin; }
const char* tenon_plugin_name(const tenon_plugin* plugin) {
  return plugin == nullptr ? "" : plugin->plugin.name().c_str();
}
const char* tenon_plugin_path(const tenon_plugin* plugin) {
  return plugin == nullptr ? "" : plugin->plugin.path().c_str();
}
const char* tenon_plugin_version(const tenon_plugin* plugin) {
  return plugin == nullptr ? "" : plugin->version.c_str();
}

tenon_status* tenon_find_plugins(tenon_bytes** lines) {
  return Guard("tenon_find_plugins", [&]() -> Status {
    TENON_RETURN_IF_ERROR(NotNull(lines));
    *lines = nullptr;
    std::string text;
    for (const tenon::client::Candidate& c : tenon::client::FindPlugins())
      text += c.name + "\t" + c.path + "\t" + c.source + "\n";
    *lines = new tenon_bytes{std::move(text)};
    return OkStatus();
  });
}

//===--- Clients and devices ---===//

tenon_status* tenon_client_create(const tenon_plugin* plugin, const char* options, tenon_client** out) {
  return Guard("tenon_client_create", [&]() -> Status {
    TENON_RETURN_IF_ERROR(NotNull(plugin, out));
    *out = nullptr;
    TENON_ASSIGN_OR_RETURN(const tenon::client::Options parsed,
                           tenon::client::Options::Parse(options == nullptr ? "" : options));
    TENON_ASSIGN_OR_RETURN(tenon::client::Client client, plugin->plugin.CreateClient(parsed));
    *out = new tenon_client{std::move(client)};
    return OkStatus();
  });
}
void tenon_client_free(tenon_client* client) { delete client; }

tenon_status* tenon_client_platform_name(const tenon_client* client, tenon_bytes** text) {
  return GiveText("tenon_client_platform_name", client, text, [&] { return client->client.PlatformName(); });
}
tenon_status* tenon_client_platform_version(const tenon_client* client, tenon_bytes** text) {
  return GiveText("tenon_client_platform_version", client, text, [&] { return client->client.PlatformVersion(); });
}

tenon_status* tenon_client_num_devices(const tenon_client* client, size_t* count) {
  return Guard("tenon_client_num_devices", [&]() -> Status {
    TENON_RETURN_IF_ERROR(NotNull(client, count));
    *count = 0;
    TENON_ASSIGN_OR_RETURN(const auto devices, client->client.AddressableDevices());
    *count = devices.size();
    return OkStatus();
  });
}

tenon_status* tenon_client_device(const tenon_client* client, size_t index, tenon_device** out) {
  return Guard("tenon_client_device", [&]() -> Status {
    TENON_RETURN_IF_ERROR(NotNull(client, out));
    *out = nullptr;
    TENON_ASSIGN_OR_RETURN(tenon::client::Device device, client->client.device(index));
    *out = new tenon_device{std::move(device)};
    return OkStatus();
  });
}
void tenon_device_free(tenon_device* device) { delete device; }

tenon_status* tenon_device_id(const tenon_device* device, int* id) {
  return Guard("tenon_device_id", [&]() -> Status {
    TENON_RETURN_IF_ERROR(NotNull(device, id));
    *id = 0;
    TENON_ASSIGN_OR_RETURN(*id, device->device.id());
    return OkStatus();
  });
}
tenon_status* tenon_device_kind(const tenon_device* device, tenon_bytes** text) {
  return GiveText("tenon_device_kind", device, text, [&] { return device->device.kind(); });
}
tenon_status* tenon_device_to_string(const tenon_device* device, tenon_bytes** text) {
  return GiveText("tenon_device_to_string", device, text, [&] { return device->device.ToString(); });
}

//===--- Compiling ---===//

tenon_status* tenon_compile_options_create(tenon_compile_options** out) {
  return Guard("tenon_compile_options_create", [&]() -> Status {
    TENON_RETURN_IF_ERROR(NotNull(out));
    *out = nullptr;
    *out = new tenon_compile_options{};
    return OkStatus();
  });
}
void tenon_compile_options_free(tenon_compile_options* options) { delete options; }

namespace {
template <class F>
tenon_status* SetOption(const char* function, tenon_compile_options* options, F&& set) {
  return Guard(function, [&]() -> Status {
    TENON_RETURN_IF_ERROR(NotNull(options));
    set(options->options);
    return OkStatus();
  });
}
template <class T>
tenon_status* SetNamed(const char* function, tenon_compile_options* options, const char* name, T value) {
  return Guard(function, [&]() -> Status {
    TENON_RETURN_IF_ERROR(NotNull(options, name));
    options->options.Set(name, value);
    return OkStatus();
  });
}
}  // namespace

tenon_status* tenon_compile_options_set_replicas(tenon_compile_options* options, int replicas) {
  return SetOption(__func__, options, [&](auto& o) { o.SetReplicas(replicas); });
}
tenon_status* tenon_compile_options_set_partitions(tenon_compile_options* options, int partitions) {
  return SetOption(__func__, options, [&](auto& o) { o.SetPartitions(partitions).SetSpmd(partitions > 1); });
}
tenon_status* tenon_compile_options_set_device(tenon_compile_options* options, int device_id) {
  return SetOption(__func__, options, [&](auto& o) { o.SetDevice(device_id); });
}
tenon_status* tenon_compile_options_set_string(tenon_compile_options* options, const char* name, const char* value) {
  if (value == nullptr) return tenon::client_c::ToC(InvalidArgument("the value is NULL"));
  return SetNamed(__func__, options, name, value);
}
tenon_status* tenon_compile_options_set_int(tenon_compile_options* options, const char* name, int64_t value) {
  return SetNamed(__func__, options, name, value);
}
tenon_status* tenon_compile_options_set_bool(tenon_compile_options* options, const char* name, int value) {
  return SetNamed(__func__, options, name, value != 0);
}
tenon_status* tenon_compile_options_set_double(tenon_compile_options* options, const char* name, double value) {
  return SetNamed(__func__, options, name, value);
}

tenon_status* tenon_compile(const tenon_client* client, const char* program, size_t program_size, const char* format,
                            const tenon_compile_options* options, tenon_executable** out) {
  return Guard("tenon_compile", [&]() -> Status {
    TENON_RETURN_IF_ERROR(NotNull(client, program, out));
    *out = nullptr;
    const tenon::client::Program code{std::string(program, program_size), format == nullptr ? "mlir" : format};
    TENON_ASSIGN_OR_RETURN(
        tenon::client::LoadedExecutable loaded,
        client->client.Compile(code, options == nullptr ? tenon::client::CompileOptions() : options->options));
    *out = new tenon_executable{std::move(loaded)};
    return OkStatus();
  });
}
void tenon_executable_free(tenon_executable* executable) { delete executable; }

tenon_status* tenon_executable_name(const tenon_executable* executable, tenon_bytes** text) {
  return GiveText("tenon_executable_name", executable, text, [&] { return executable->loaded.executable().Name(); });
}
tenon_status* tenon_executable_serialize(const tenon_executable* executable, tenon_bytes** bytes) {
  return GiveText("tenon_executable_serialize", executable, bytes,
                  [&] { return executable->loaded.executable().Serialize(); });
}

tenon_status* tenon_executable_num_outputs(const tenon_executable* executable, size_t* count) {
  return Guard("tenon_executable_num_outputs", [&]() -> Status {
    TENON_RETURN_IF_ERROR(NotNull(executable, count));
    *count = executable->loaded.num_outputs();
    return OkStatus();
  });
}
tenon_status* tenon_executable_num_devices(const tenon_executable* executable, size_t* count) {
  return Guard("tenon_executable_num_devices", [&]() -> Status {
    TENON_RETURN_IF_ERROR(NotNull(executable, count));
    *count = executable->loaded.num_devices();
    return OkStatus();
  });
}

tenon_status* tenon_executable_output(const tenon_executable* executable, size_t index, tenon_dtype* dtype,
                                      int64_t* dims, size_t max_rank, size_t* rank) {
  return Guard("tenon_executable_output", [&]() -> Status {
    TENON_RETURN_IF_ERROR(NotNull(executable, dtype, rank));
    *dtype = TENON_INVALID;
    *rank = 0;
    TENON_ASSIGN_OR_RETURN(const std::vector<tenon::Shape> shapes, executable->loaded.executable().OutputShapes());
    if (index >= shapes.size()) {
      return tenon::OutOfRange("there is no output " + std::to_string(index) + ", the program gives " +
                               std::to_string(shapes.size()));
    }
    const tenon::Shape& shape = shapes[index];
    *dtype = static_cast<tenon_dtype>(shape.dtype);
    *rank = shape.rank();
    for (size_t i = 0; dims != nullptr && i < std::min(max_rank, shape.rank()); ++i) dims[i] = shape.dims[i];
    return OkStatus();
  });
}

tenon_status* tenon_executable_load(const tenon_client* client, const char* bytes, size_t size,
                                    tenon_executable** out) {
  return Guard("tenon_executable_load", [&]() -> Status {
    TENON_RETURN_IF_ERROR(NotNull(client, bytes, out));
    *out = nullptr;
    TENON_ASSIGN_OR_RETURN(tenon::client::LoadedExecutable loaded,
                           client->client.DeserializeAndLoad(std::string_view(bytes, size)));
    *out = new tenon_executable{std::move(loaded)};
    return OkStatus();
  });
}

//===--- Executing ---===//

namespace {

Result<tenon::client::ExecuteOptions> ToOptions(const tenon_execute_options* options, size_t num_arguments) {
  tenon::client::ExecuteOptions result;
  if (options == nullptr) return result;
  if (options->struct_size < sizeof(tenon_execute_options)) {
    return InvalidArgument("tenon_execute_options::struct_size must be at least " +
                           std::to_string(sizeof(tenon_execute_options)) + ", got " +
                           std::to_string(options->struct_size));
  }
  std::vector<int64_t> donate;
  if (options->num_donate > 0) {
    TENON_RETURN_IF_ERROR(NotNull(options->donate));
    donate.assign(options->donate, options->donate + options->num_donate);
  }
  for (const int64_t i : donate) {
    if (i < 0 || static_cast<size_t>(i) >= num_arguments) {
      return InvalidArgument("argument " + std::to_string(i) + " is to be donated, but there are " +
                             std::to_string(num_arguments));
    }
  }
  if (!donate.empty()) result.donate = tenon::client::Donate::Only(std::move(donate));
  result.launch_id = options->launch_id;
  return result;
}

Status Gather(const tenon_buffer* const* arguments, size_t count, std::vector<const tenon::client::Buffer*>& out) {
  if (count > 0) TENON_RETURN_IF_ERROR(NotNull(arguments));
  for (size_t i = 0; i < count; ++i) {
    if (arguments[i] == nullptr) return InvalidArgument("argument " + std::to_string(i) + " is NULL");
    out.push_back(&arguments[i]->buffer);
  }
  return OkStatus();
}

// Handles for all of them, or none.
void HandOut(std::vector<tenon::client::Buffer> buffers, tenon_buffer** outputs) {
  std::vector<std::unique_ptr<tenon_buffer>> handles;
  for (tenon::client::Buffer& buffer : buffers)
    handles.push_back(std::make_unique<tenon_buffer>(tenon_buffer{std::move(buffer)}));
  for (size_t i = 0; i < handles.size(); ++i) outputs[i] = handles[i].release();
}

Status CheckOutputs(const tenon_executable* executable, tenon_buffer** outputs, size_t num_outputs,
                    size_t num_devices) {
  TENON_RETURN_IF_ERROR(NotNull(executable));
  if (num_outputs != executable->loaded.num_outputs()) {
    return InvalidArgument("the program gives " + std::to_string(executable->loaded.num_outputs()) +
                           " outputs, but there is room for " + std::to_string(num_outputs));
  }
  if (num_outputs > 0) TENON_RETURN_IF_ERROR(NotNull(outputs));
  for (size_t i = 0; i < num_outputs * num_devices; ++i) outputs[i] = nullptr;
  return OkStatus();
}

}  // namespace

tenon_status* tenon_execute(const tenon_executable* executable, const tenon_buffer* const* arguments,
                            size_t num_arguments, const tenon_execute_options* options, tenon_buffer** outputs,
                            size_t num_outputs, tenon_event** done) {
  return Guard("tenon_execute", [&]() -> Status {
    if (done != nullptr) *done = nullptr;
    TENON_RETURN_IF_ERROR(CheckOutputs(executable, outputs, num_outputs, 1));
    TENON_ASSIGN_OR_RETURN(const tenon::client::ExecuteOptions converted, ToOptions(options, num_arguments));
    std::vector<const tenon::client::Buffer*> list;
    TENON_RETURN_IF_ERROR(Gather(arguments, num_arguments, list));
    std::vector<tenon::client::Buffer> results(num_outputs);
    std::unique_ptr<tenon_event> event;
    if (done != nullptr) event = std::make_unique<tenon_event>();
    TENON_RETURN_IF_ERROR(
        executable->loaded.ExecuteInto(list, results, converted, event == nullptr ? nullptr : &event->event));
    HandOut(std::move(results), outputs);
    if (done != nullptr) *done = event.release();
    return OkStatus();
  });
}

tenon_status* tenon_execute_on_devices(const tenon_executable* executable, const tenon_buffer* const* arguments,
                                       size_t num_devices, size_t num_arguments, const tenon_execute_options* options,
                                       tenon_buffer** outputs, size_t num_outputs) {
  return Guard("tenon_execute_on_devices", [&]() -> Status {
    TENON_RETURN_IF_ERROR(NotNull(executable));
    if (num_devices != executable->loaded.num_devices()) {
      return InvalidArgument("the program runs on " + std::to_string(executable->loaded.num_devices()) +
                             " devices here, got arguments for " + std::to_string(num_devices));
    }
    TENON_RETURN_IF_ERROR(CheckOutputs(executable, outputs, num_outputs, num_devices));
    TENON_ASSIGN_OR_RETURN(const tenon::client::ExecuteOptions converted, ToOptions(options, num_arguments));
    std::vector<std::vector<const tenon::client::Buffer*>> lists(num_devices);
    for (size_t d = 0; d < num_devices; ++d) {
      TENON_RETURN_IF_ERROR(
          Gather(arguments == nullptr ? nullptr : arguments + d * num_arguments, num_arguments, lists[d]));
    }
    TENON_ASSIGN_OR_RETURN(tenon::client::Execution execution, executable->loaded.ExecuteOnDevices(lists, converted));
    std::vector<tenon::client::Buffer> flat;
    for (auto& list : execution.outputs) {
      for (tenon::client::Buffer& buffer : list) flat.push_back(std::move(buffer));
    }
    HandOut(std::move(flat), outputs);
    return OkStatus();
  });
}
