#include "tenon/conformance/env.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include "tenon/abi/program.h"

namespace tenon::conformance {

namespace {

std::string Quote(const char* text, size_t size) { return text == nullptr ? std::string() : std::string(text, size); }

template <class Args, class T>
void Destroy(Env& env, T* object, T* Args::* field) {
  Args args = New<Args>();
  args.*field = object;
  if (!env.Supports<Args>()) return;
  (void)env.Take(Fn<Args>::Slot(env.api())(&args));
}

std::vector<PJRT_NamedValue> ClientOptions(const Profile& profile) {
  std::vector<PJRT_NamedValue> values;
  for (const Profile::Option& option : profile.options) {
    PJRT_NamedValue value;
    std::memset(static_cast<void*>(&value), 0, sizeof(value));
    value.struct_size = PJRT_NamedValue_STRUCT_SIZE;
    value.name = option.name.data();
    value.name_size = option.name.size();
    value.value_size = 1;
    if (option.type == "string") {
      value.type = PJRT_NamedValue_kString;
      value.string_value = option.value.data();
      value.value_size = option.value.size();
    } else if (option.type == "int") {
      value.type = PJRT_NamedValue_kInt64;
      value.int64_value = std::strtoll(option.value.c_str(), nullptr, 0);
    } else if (option.type == "bool") {
      value.type = PJRT_NamedValue_kBool;
      value.bool_value = option.value == "true" || option.value == "1";
    } else {
      value.type = PJRT_NamedValue_kFloat;
      value.float_value = std::strtof(option.value.c_str(), nullptr);
    }
    values.push_back(value);
  }
  return values;
}

}  // namespace

void DestroyObject(Env& env, PJRT_Buffer* o) { Destroy(env, o, &PJRT_Buffer_Destroy_Args::buffer); }
void DestroyObject(Env& env, PJRT_Event* o) { Destroy(env, o, &PJRT_Event_Destroy_Args::event); }
void DestroyObject(Env& env, PJRT_LoadedExecutable* o) {
  Destroy(env, o, &PJRT_LoadedExecutable_Destroy_Args::executable);
}
void DestroyObject(Env& env, PJRT_Executable* o) { Destroy(env, o, &PJRT_Executable_Destroy_Args::executable); }
void DestroyObject(Env& env, PJRT_Client* o) { Destroy(env, o, &PJRT_Client_Destroy_Args::client); }
void DestroyObject(Env& env, PJRT_TopologyDescription* o) {
  Destroy(env, o, &PJRT_TopologyDescription_Destroy_Args::topology);
}
void DestroyObject(Env& env, PJRT_AsyncHostToDeviceTransferManager* o) {
  Destroy(env, o, &PJRT_AsyncHostToDeviceTransferManager_Destroy_Args::transfer_manager);
}
void DestroyObject(Env& env, PJRT_ExecuteContext* o) { Destroy(env, o, &PJRT_ExecuteContext_Destroy_Args::context); }

std::string_view ObservedName(Observed observed) {
  switch (observed) {
    case Observed::kPass:
      return "pass";
    case Observed::kFail:
      return "fail";
    case Observed::kUnimplemented:
      return "unimplemented";
    case Observed::kNoDevice:
      return "no device";
    case Observed::kCrash:
      return "crash";
    case Observed::kTimeout:
      return "timeout";
  }
  return "?";
}

void Env::Fail(std::string message) const { throw Stop{Observed::kFail, std::move(message)}; }
void Env::Unsupported(std::string message) const { throw Stop{Observed::kUnimplemented, std::move(message)}; }

void Env::Unequal(std::string_view got, std::string_view want, std::string_view what) const {
  Fail(fmt::format("{}: got {}, wanted {}", what, got, want));
}

void Env::Missing(std::string_view function) const { Unsupported(fmt::format("{} is not in the table", function)); }

void Env::CheckOk(const Status& status, std::string_view what) const {
  if (status.ok()) return;
  if (status.code() == Code::kUnimplemented) Unsupported(fmt::format("{}: {}", what, status.message()));
  Fail(fmt::format("{} failed: {}", what, status.ToString()));
}

Status Env::Take(PJRT_Error* error) const {
  if (error == nullptr) return OkStatus();
  auto code = New<PJRT_Error_GetCode_Args>();
  code.error = error;
  if (api_->PJRT_Error_GetCode(&code) != nullptr) Fail("PJRT_Error_GetCode failed");
  auto message = New<PJRT_Error_Message_Args>();
  message.error = error;
  api_->PJRT_Error_Message(&message);
  std::string text = Quote(message.message, message.message_size);
  auto destroy = New<PJRT_Error_Destroy_Args>();
  destroy.error = error;
  api_->PJRT_Error_Destroy(&destroy);
  if (code.code < 1 || code.code > 16)
    Fail(fmt::format("an error has code {}, wanted 1 to 16", static_cast<int>(code.code)));
  return Status(static_cast<Code>(code.code), std::move(text));
}

void Env::CheckFailure(const Status& status, std::initializer_list<Code> codes, std::string_view what,
                       std::string_view why) const {
  if (status.ok()) Fail(fmt::format("{} succeeded although {}", what, why));
  if (status.code() == Code::kUnimplemented) {
    bool wanted = codes.size() == 0;
    for (Code code : codes) wanted = wanted || code == Code::kUnimplemented;
    if (!wanted) Unsupported(fmt::format("{}: {}", what, status.message()));
  }
  if (status.message().empty()) Fail(fmt::format("{} failed with {} and no text", what, CodeName(status.code())));
  if (codes.size() == 0) return;
  std::string list;
  for (Code code : codes) {
    if (code == status.code()) return;
    list += (list.empty() ? "" : " or ") + std::string(CodeName(code));
  }
  Fail(fmt::format("{} failed with {}, wanted {} because {}", what, status.ToString(), list, why));
}

// ---- Client

Client Env::NewClient() {
  auto args = New<PJRT_Client_Create_Args>();
  std::vector<PJRT_NamedValue> options = ClientOptions(*profile_);
  args.create_options = options.data();
  args.num_options = options.size();
  Ok(args);
  Expect(args.client != nullptr, "PJRT_Client_Create gave no client");
  return {*this, args.client};
}

Status Env::ClientStatus() {
  if (tried_client_) return client_status_;
  tried_client_ = true;
  auto initialize = New<PJRT_Plugin_Initialize_Args>();
  client_status_ = Try(initialize);
  if (!client_status_.ok()) return client_status_;
  auto args = New<PJRT_Client_Create_Args>();
  std::vector<PJRT_NamedValue> options = ClientOptions(*profile_);
  args.create_options = options.data();
  args.num_options = options.size();
  client_status_ = Try(args);
  client_ = args.client;
  if (!client_status_.ok()) return client_status_;
  auto devices = New<PJRT_Client_AddressableDevices_Args>();
  devices.client = client_;
  client_status_ = Try(devices);
  if (client_status_.ok()) {
    devices_.assign(devices.addressable_devices, devices.addressable_devices + devices.num_addressable_devices);
    if (devices_.empty()) client_status_ = NotFound("the client has no addressable device");
  }
  return client_status_;
}

PJRT_Client* Env::client() {
  Status status = ClientStatus();
  if (!status.ok()) throw Stop{Observed::kNoDevice, "no client: " + status.ToString()};
  return client_;
}

const std::vector<PJRT_Device*>& Env::devices() {
  client();
  return devices_;
}

void Env::Close() {
  owned_topology_.Reset();
  if (client_ != nullptr) DestroyObject(*this, std::exchange(client_, nullptr));
}

PJRT_Memory* Env::DefaultMemory(PJRT_Device* device) {
  auto args = New<PJRT_Device_DefaultMemory_Args>();
  args.device = device;
  Ok(args);
  return args.memory;
}

std::vector<PJRT_Memory*> Env::Memories(PJRT_Device* device) {
  auto args = New<PJRT_Device_AddressableMemories_Args>();
  args.device = device;
  Ok(args);
  return {args.memories, args.memories + args.num_memories};
}

std::string Env::MemoryKind(PJRT_Memory* memory) {
  auto args = New<PJRT_Memory_Kind_Args>();
  args.memory = memory;
  Ok(args);
  return Quote(args.kind, args.kind_size);
}

PJRT_DeviceDescription* Env::Description(PJRT_Device* device) {
  auto args = New<PJRT_Device_GetDescription_Args>();
  args.device = device;
  Ok(args);
  return args.device_description;
}

int Env::DeviceId(PJRT_Device* device) {
  auto args = New<PJRT_DeviceDescription_Id_Args>();
  args.device_description = Description(device);
  Ok(args);
  return args.id;
}

std::string Env::PlatformName() {
  auto args = New<PJRT_Client_PlatformName_Args>();
  args.client = client();
  Ok(args);
  return Quote(args.platform_name, args.platform_name_size);
}

std::string Env::PlatformVersion() {
  auto args = New<PJRT_Client_PlatformVersion_Args>();
  args.client = client();
  Ok(args);
  return Quote(args.platform_version, args.platform_version_size);
}

PJRT_TopologyDescription* Env::AnyTopology(Topology* owned) {
  if (profile_->device) {
    auto args = New<PJRT_Client_TopologyDescription_Args>();
    args.client = client();
    Ok(args);
    Expect(args.topology != nullptr, "PJRT_Client_TopologyDescription gave no topology");
    return args.topology;
  }
  // libtpu registers its topologies there. Its failure is no matter: describing devices needs none.
  auto initialize = New<PJRT_Plugin_Initialize_Args>();
  (void)Try(initialize);
  auto args = New<PJRT_TopologyDescription_Create_Args>();
  args.topology_name = profile_->topology.data();
  args.topology_name_size = profile_->topology.size();
  Ok(args);
  *owned = Topology(*this, args.topology);
  return args.topology;
}

// ---- Events

Status Env::Await(PJRT_Event* event) const {
  auto args = New<PJRT_Event_Await_Args>();
  args.event = event;
  return Try(args);
}

bool Env::IsReady(PJRT_Event* event) const {
  auto args = New<PJRT_Event_IsReady_Args>();
  args.event = event;
  Ok(args);
  return args.is_ready;
}

// ---- Buffers

Result<Buffer> Env::TryUpload(PJRT_Buffer_Type type, const void* data, const Dims& dims, const UploadOptions& options,
                              Event* done) {
  auto args = New<PJRT_Client_BufferFromHostBuffer_Args>();
  args.client = options.client != nullptr ? options.client : client();
  args.data = data;
  // Tests send numbers that the enums do not have; C++ forbids to read them as such.
  std::memcpy(&args.type, &type, sizeof(type));
  args.dims = dims.data();
  args.num_dims = dims.size();
  args.byte_strides = options.byte_strides.empty() ? nullptr : options.byte_strides.data();
  args.num_byte_strides = options.byte_strides.size();
  std::memcpy(&args.host_buffer_semantics, &options.semantics, sizeof(options.semantics));
  args.memory = options.memory;
  args.device = options.device;
  if (args.memory == nullptr && args.device == nullptr) args.device = device();
  args.device_layout = options.layout;
  TENON_RETURN_IF_ERROR(Try(args));
  Buffer buffer(*this, args.buffer);
  Event event(*this, args.done_with_host_buffer);
  Expect(args.buffer != nullptr, "PJRT_Client_BufferFromHostBuffer gave no buffer");
  Expect(args.done_with_host_buffer != nullptr, "PJRT_Client_BufferFromHostBuffer gave no event");
  if (done != nullptr) {
    *done = std::move(event);
  } else if (options.semantics == PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes) {
    TENON_RETURN_IF_ERROR(Await(event));
  }
  return buffer;
}

Buffer Env::Upload(PJRT_Buffer_Type type, const void* data, const Dims& dims, const UploadOptions& options) {
  Result<Buffer> buffer = TryUpload(type, data, dims, options);
  if (!buffer.ok()) {
    if (buffer.status().code() == Code::kUnimplemented) Unsupported("upload: " + buffer.status().ToString());
    Fail("PJRT_Client_BufferFromHostBuffer failed: " + buffer.status().ToString());
  }
  return std::move(buffer).value();
}

Result<Bytes> Env::TryDownload(PJRT_Buffer* buffer) {
  auto args = New<PJRT_Buffer_ToHostBuffer_Args>();
  args.src = buffer;
  std::vector<int64_t> order;
  PJRT_Buffer_MemoryLayout layout = RowMajor(BufferDims(buffer).size(), &order);
  if (!order.empty()) args.host_layout = &layout;
  TENON_RETURN_IF_ERROR(Try(args));
  Bytes bytes(args.dst_size);
  char empty = 0;
  args.dst = bytes.empty() ? &empty : bytes.data();
  args.event = nullptr;
  TENON_RETURN_IF_ERROR(Try(args));
  Event event(*this, args.event);
  Expect(event.get() != nullptr, "PJRT_Buffer_ToHostBuffer gave no event");
  TENON_RETURN_IF_ERROR(Await(event));
  return bytes;
}

Bytes Env::Download(PJRT_Buffer* buffer) {
  Result<Bytes> bytes = TryDownload(buffer);
  if (!bytes.ok()) Fail("PJRT_Buffer_ToHostBuffer failed: " + bytes.status().ToString());
  return std::move(bytes).value();
}

void Env::ExpectValues(PJRT_Buffer* buffer, const std::vector<float>& want, std::string_view what) {
  std::vector<float> got = Download<float>(buffer);
  Equal(got.size(), want.size(), std::string("elements of ") + std::string(what));
  for (size_t i = 0; i < want.size(); ++i) {
    if (got[i] != want[i]) Fail(fmt::format("element {} of {}: got {}, wanted {}", i, what, got[i], want[i]));
  }
}

Dims Env::BufferDims(PJRT_Buffer* buffer) {
  auto args = New<PJRT_Buffer_Dimensions_Args>();
  args.buffer = buffer;
  Ok(args);
  return {args.dims, args.dims + args.num_dims};
}

PJRT_Buffer_Type Env::BufferType(PJRT_Buffer* buffer) {
  auto args = New<PJRT_Buffer_ElementType_Args>();
  args.buffer = buffer;
  Ok(args);
  return args.type;
}

bool Env::IsDeleted(PJRT_Buffer* buffer) {
  auto args = New<PJRT_Buffer_IsDeleted_Args>();
  args.buffer = buffer;
  Ok(args);
  return args.is_deleted;
}

void Env::Delete(PJRT_Buffer* buffer) {
  auto args = New<PJRT_Buffer_Delete_Args>();
  args.buffer = buffer;
  Ok(args);
}

Status Env::Ready(PJRT_Buffer* buffer) {
  auto args = New<PJRT_Buffer_ReadyEvent_Args>();
  args.buffer = buffer;
  TENON_RETURN_IF_ERROR(Try(args));
  Event event(*this, args.event);
  return Await(event);
}

Buffer Env::CopyToMemory(PJRT_Buffer* buffer, PJRT_Memory* memory) {
  auto args = New<PJRT_Buffer_CopyToMemory_Args>();
  args.buffer = buffer;
  args.dst_memory = memory;
  Ok(args);
  return {*this, args.dst_buffer};
}

// ---- Programs

Result<Loaded> Env::TryCompile(std::string_view code, std::string_view options, std::string_view format,
                               PJRT_Client* of_client) {
  std::string copy(code);
  PJRT_Program program = NewProgram(copy, format);
  auto args = New<PJRT_Client_Compile_Args>();
  args.client = of_client != nullptr ? of_client : client();
  args.program = &program;
  args.compile_options = options.data();
  args.compile_options_size = options.size();
  TENON_RETURN_IF_ERROR(Try(args));
  Expect(args.executable != nullptr, "PJRT_Client_Compile gave no executable");
  return Loaded(*this, args.executable);
}

Loaded Env::Compile(std::string_view code, std::string_view options, PJRT_Client* of_client) {
  Result<Loaded> loaded = TryCompile(code, options, "mlir", of_client);
  if (!loaded.ok()) {
    if (loaded.status().code() == Code::kUnimplemented)
      Unsupported("PJRT_Client_Compile: " + loaded.status().ToString());
    Fail("PJRT_Client_Compile failed: " + loaded.status().ToString());
  }
  return std::move(loaded).value();
}

Executable Env::CompileAhead(PJRT_TopologyDescription* topology, std::string_view code, PJRT_Client* client) {
  std::string copy(code);
  PJRT_Program program = NewProgram(copy);
  auto args = New<PJRT_Compile_Args>();
  args.topology = topology;
  args.program = &program;
  args.compile_options = kOneDevice.data();
  args.compile_options_size = kOneDevice.size();
  args.client = client;
  Ok(args);
  Expect(args.executable != nullptr, "PJRT_Compile gave no executable");
  return {*this, args.executable};
}

Executable Env::GetExecutable(PJRT_LoadedExecutable* loaded) {
  auto args = New<PJRT_LoadedExecutable_GetExecutable_Args>();
  args.loaded_executable = loaded;
  Ok(args);
  Expect(args.executable != nullptr, "PJRT_LoadedExecutable_GetExecutable gave nothing");
  return {*this, args.executable};
}

size_t Env::NumOutputs(PJRT_LoadedExecutable* loaded) {
  Executable executable = GetExecutable(loaded);
  auto args = New<PJRT_Executable_NumOutputs_Args>();
  args.executable = executable;
  Ok(args);
  return args.num_outputs;
}

Result<Run> Env::TryExecute(PJRT_LoadedExecutable* loaded, const std::vector<std::vector<PJRT_Buffer*>>& arguments,
                            PJRT_ExecuteOptions* options, PJRT_Device* execute_device) {
  size_t num_outputs = NumOutputs(loaded);
  PJRT_ExecuteOptions defaults = NewExecuteOptions();
  std::vector<PJRT_Buffer* const*> argument_lists;
  std::vector<std::vector<PJRT_Buffer*>> outputs(arguments.size(), std::vector<PJRT_Buffer*>(num_outputs));
  std::vector<PJRT_Buffer**> output_lists;
  for (size_t d = 0; d < arguments.size(); ++d) {
    argument_lists.push_back(arguments[d].data());
    output_lists.push_back(outputs[d].data());
  }
  std::vector<PJRT_Event*> done(arguments.size());
  auto args = New<PJRT_LoadedExecutable_Execute_Args>();
  args.executable = loaded;
  args.options = options != nullptr ? options : &defaults;
  args.argument_lists = argument_lists.data();
  args.num_devices = arguments.size();
  args.num_args = arguments.empty() ? 0 : arguments[0].size();
  args.output_lists = output_lists.data();
  args.device_complete_events = done.data();
  args.execute_device = execute_device;
  TENON_RETURN_IF_ERROR(Try(args));
  Run run;
  for (size_t d = 0; d < arguments.size(); ++d) {
    run.done.emplace_back(*this, done[d]);
    Expect(done[d] != nullptr, "PJRT_LoadedExecutable_Execute left a device_complete_event empty");
    run.outputs.emplace_back();
    for (PJRT_Buffer* output : outputs[d]) {
      Expect(output != nullptr, "PJRT_LoadedExecutable_Execute left an output empty");
      run.outputs.back().emplace_back(*this, output);
    }
  }
  return run;
}

Run Env::Start(PJRT_LoadedExecutable* loaded, const std::vector<std::vector<PJRT_Buffer*>>& arguments,
               PJRT_ExecuteOptions* options, PJRT_Device* execute_device) {
  Result<Run> run = TryExecute(loaded, arguments, options, execute_device);
  if (!run.ok()) Fail("PJRT_LoadedExecutable_Execute failed: " + run.status().ToString());
  return std::move(run).value();
}

std::vector<Buffer> Env::Execute(PJRT_LoadedExecutable* loaded, const std::vector<PJRT_Buffer*>& arguments,
                                 PJRT_ExecuteOptions* options) {
  Run run = Start(loaded, {arguments}, options);
  Status done = Await(run.done[0]);
  if (!done.ok()) Fail("the execution failed: " + done.ToString());
  return std::move(run.outputs[0]);
}

std::string Env::CompileOptions(int replicas, int partitions) {
  std::string build{'\x20', static_cast<char>(replicas), '\x28', static_cast<char>(partitions)};
  return std::string("\x1a") + static_cast<char>(build.size()) + build;
}

// ---- Free functions

namespace {
PJRT_Buffer_MemoryLayout Tiled(const std::vector<int64_t>& order) {
  PJRT_Buffer_MemoryLayout layout;
  std::memset(static_cast<void*>(&layout), 0, sizeof(layout));
  layout.struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE;
  layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  layout.tiled.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE;
  layout.tiled.minor_to_major = order.data();
  layout.tiled.minor_to_major_size = order.size();
  return layout;
}
}  // namespace

PJRT_Buffer_MemoryLayout RowMajor(size_t rank, std::vector<int64_t>* order) {
  order->clear();
  for (size_t i = rank; i-- > 0;) order->push_back(static_cast<int64_t>(i));
  return Tiled(*order);
}

PJRT_Buffer_MemoryLayout ColumnMajor(size_t rank, std::vector<int64_t>* order) {
  order->clear();
  for (size_t i = 0; i < rank; ++i) order->push_back(static_cast<int64_t>(i));
  return Tiled(*order);
}

PJRT_Program NewProgram(std::string_view code, std::string_view format) {
  return TenonMakeProgram(code.data(), code.size(), format.data(), format.size());
}

PJRT_ExecuteOptions NewExecuteOptions() {
  PJRT_ExecuteOptions options;
  std::memset(static_cast<void*>(&options), 0, sizeof(options));
  options.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE;
  options.use_major_to_minor_data_layout_for_callbacks = true;
  return options;
}

const char kAddProgram[] = R"(module @add {
  func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %arg0, %arg1 : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
})";
const char kAddOneProgram[] = R"(module @add_one {
  func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %c = stablehlo.constant dense<1.0> : tensor<4xf32>
    %0 = stablehlo.add %arg0, %c : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
})";
const char kIdentityProgram[] = R"(module @identity {
  func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    return %arg0 : tensor<4xf32>
  }
})";
const char kPairProgram[] = R"(module @pair {
  func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = stablehlo.add %arg0, %arg1 : tensor<4xf32>
    %1 = stablehlo.multiply %arg0, %arg1 : tensor<4xf32>
    return %0, %1 : tensor<4xf32>, tensor<4xf32>
  }
})";
const char kConstantProgram[] = R"(module @constant {
  func.func public @main() -> tensor<4xf32> {
    %c = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
    return %c : tensor<4xf32>
  }
})";
const char kDonateProgram[] = R"(module @donate {
  func.func public @main(%arg0: tensor<4xf32> {tf.aliasing_output = 0 : i32}) -> tensor<4xf32> {
    %0 = stablehlo.add %arg0, %arg0 : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
})";

}  // namespace tenon::conformance
