#include "tenon/plugin/plugin.h"

#include <fmt/format.h>

#include "tenon/plugin/error.h"

namespace tenon::plugin {

namespace {

PJRT_CallbackError callback_error = MakeCallbackError;

// The store's value is the caller's memory: copied, then given back.
template <class Args>
std::string TakeValue(const Args& args) {
  std::string value(args.value == nullptr ? "" : args.value, args.value == nullptr ? 0 : args.value_size);
  if (args.value_deleter_callback != nullptr) args.value_deleter_callback(args.value);
  return value;
}

}  // namespace

Result<std::string> KeyValueStore::Get(std::string_view key, int timeout_ms) const {
  PJRT_KeyValueGetCallback_Args args{};
  args.struct_size = PJRT_KeyValueGetCallback_Args_STRUCT_SIZE;
  args.key = key.data();
  args.key_size = key.size();
  args.timeout_in_ms = timeout_ms;
  args.callback_error = &callback_error;
  args.user_arg = get_arg_;
  TENON_RETURN_IF_ERROR(TakeCError(get_(&args)));
  return TakeValue(args);
}

Result<std::string> KeyValueStore::TryGet(std::string_view key) const {
  if (try_get_ == nullptr) return Unimplemented("the key-value store has no try-get callback");
  PJRT_KeyValueTryGetCallback_Args args{};
  args.struct_size = PJRT_KeyValueTryGetCallback_Args_STRUCT_SIZE;
  args.key = key.data();
  args.key_size = key.size();
  args.callback_error = &callback_error;
  args.user_arg = try_get_arg_;
  TENON_RETURN_IF_ERROR(TakeCError(try_get_(&args)));
  return TakeValue(args);
}

Status KeyValueStore::Put(std::string_view key, std::string_view value) const {
  PJRT_KeyValuePutCallback_Args args{};
  args.struct_size = PJRT_KeyValuePutCallback_Args_STRUCT_SIZE;
  args.key = key.data();
  args.key_size = key.size();
  args.value = value.data();
  args.value_size = value.size();
  args.callback_error = &callback_error;
  args.user_arg = put_arg_;
  return TakeCError(put_(&args));
}

int64_t ClientOptions::GetInt(std::string_view name, int64_t otherwise) const {
  const auto* value = FindOption<int64_t>(values, name);
  return value == nullptr ? otherwise : *value;
}

bool ClientOptions::GetBool(std::string_view name, bool otherwise) const {
  const auto* value = FindOption<bool>(values, name);
  return value == nullptr ? otherwise : *value;
}

std::string ClientOptions::GetString(std::string_view name, std::string_view otherwise) const {
  const auto* value = FindOption<std::string>(values, name);
  return value == nullptr ? std::string(otherwise) : *value;
}

Result<Ref<Topology>> Plugin::CreateTopology(std::string_view name, const Options& options) {
  return Unimplemented(fmt::format("PJRT_TopologyDescription_Create is not implemented (topology '{}')", name));
}

Result<Ref<Topology>> Plugin::DeserializeTopology(std::string_view bytes) {
  TENON_ASSIGN_OR_RETURN(Topology::Info info, Topology::ParseInfo(bytes));
  return MakeRef<Topology>(std::move(info));
}

Result<Ref<Executable>> Plugin::CompileForTopology(const Program& program, const CompileOptions& options,
                                                   Topology& topology, Client* client) {
  return Unimplemented("PJRT_Compile is not implemented");
}

std::vector<std::string> Plugin::phase_names() const { return {"compile"}; }

Result<PartialProgram> Plugin::RunPhase(std::string_view phase, const PartialProgram& program,
                                        const CompileOptions& options, Topology& topology) {
  const Program whole{program.code, program.format.empty() ? std::string_view("mlir") : program.format};
  TENON_ASSIGN_OR_RETURN(const Ref<Executable> executable, CompileForTopology(whole, options, topology, nullptr));
  PartialProgram made;
  TENON_ASSIGN_OR_RETURN(made.code, executable->Serialize());
  made.format = "executable";
  made.name = executable->info().name;
  return made;
}

Status Plugin::RegisterFfiHandler(const FfiHandlerRegistration& registration) {
  return Unimplemented(
      fmt::format("PJRT_FFI_Register_Handler is not implemented (target '{}')", registration.target_name));
}

Status Plugin::RegisterCustomPartitioner(std::string_view name, std::shared_ptr<const CustomPartitioner>) {
  return Unimplemented(fmt::format("PJRT_Register_Custom_Partitioner is not implemented (name '{}')", name));
}

}  // namespace tenon::plugin
