#include "tenon/plugin/executable.h"

#include <fmt/format.h>

#include "tenon/plugin/client.h"
#include "tenon/plugin/executable_arrays.h"

namespace tenon::plugin {

Executable::Executable(ExecutableInfo info) : info_(std::move(info)) {}
Executable::~Executable() = default;

Result<std::string> Executable::Serialize() const {
  return Unimplemented(fmt::format("executable '{}' cannot be serialized", info_.name));
}

Result<Executable::ProgramText> Executable::OptimizedProgram() const {
  return Unimplemented(fmt::format("executable '{}' does not keep its program", info_.name));
}

Result<std::string> Executable::Metadata() const {
  return Unimplemented(fmt::format("executable '{}' has no metadata", info_.name));
}

AbiVersion Executable::abi_version() const {
  AbiVersion version = origin_;
  if (!info_.abi_version.empty()) version.versions = {info_.abi_version};
  return version;
}

void Executable::NoteOrigin(const std::string& platform_name, const std::string& platform_version) {
  std::call_once(origin_once_, [&] { origin_ = {platform_name, {platform_version}}; });
}

const Executable::CArrays& Executable::c_arrays() const {
  std::call_once(arrays_once_, [this] { arrays_ = std::make_unique<CArrays>(info_); });
  return *arrays_;
}

const Result<Executable::ProgramText>& Executable::cached_program() const {
  std::call_once(program_once_, [this] { program_.emplace(OptimizedProgram()); });
  return *program_;
}

std::string LayoutText(const ArraySpec& spec) {
  std::string text = "{";
  size_t rank = spec.shape.rank();
  for (size_t i = 0; i < rank; ++i) {
    int64_t dim = spec.row_major() ? static_cast<int64_t>(rank - 1 - i) : spec.minor_to_major[i];
    fmt::format_to(std::back_inserter(text), "{}{}", i == 0 ? "" : ",", dim);
  }
  return text + "}";
}

namespace {

void AddText(std::string_view text, Executable::CArrays::Texts& texts) {
  texts.data.push_back(text.data());
  texts.sizes.push_back(text.size());
}

}  // namespace

Executable::CArrays::CArrays(const ExecutableInfo& info) : cost(info.cost) {
  for (const ValueSpec& v : info.outputs) {
    output_types.push_back(static_cast<PJRT_Buffer_Type>(v.array.shape.dtype));
    output_dims.insert(output_dims.end(), v.array.shape.dims.begin(), v.array.shape.dims.end());
    output_ranks.push_back(v.array.shape.rank());
    AddText(v.memory_kind, output_memory_kinds);
    output_layouts.push_back(std::make_unique<LayoutHandle>(LayoutHandle{LayoutText(v.array)}));
    output_layout_pointers.push_back(output_layouts.back().get());
  }
  for (const ValueSpec& v : info.parameters) {
    AddText(v.memory_kind, parameter_memory_kinds);
    parameter_layouts.push_back(std::make_unique<LayoutHandle>(LayoutHandle{LayoutText(v.array)}));
    parameter_layout_pointers.push_back(parameter_layouts.back().get());
    const Shape& shape = v.array.shape;
    parameters.push_back({.type = static_cast<PJRT_Buffer_Type>(shape.dtype),
                          .dims = shape.dims.data(),
                          .rank = shape.rank(),
                          .minor_to_major = v.array.row_major() ? nullptr : v.array.minor_to_major.data(),
                          .donated = v.donated});
  }
  for (const std::string& s : info.output_shardings) AddText(s, output_shardings);
  for (const std::string& s : info.parameter_shardings) AddText(s, parameter_shardings);
}

Status ExecuteContext::Add(int64_t type_id, void* data, void (*deleter)(void*)) {
  if (Find(type_id) != nullptr) {
    return AlreadyExists(fmt::format("the execute context already has user data of type {}", type_id));
  }
  entries_.push_back(Entry{type_id, data, deleter});
  return OkStatus();
}

void* ExecuteContext::Find(int64_t type_id) const {
  for (const Entry& e : entries_) {
    if (e.type_id == type_id) return e.data;
  }
  return nullptr;
}

ExecuteContext::~ExecuteContext() {
  for (const Entry& e : entries_) {
    if (e.deleter != nullptr) e.deleter(e.data);
  }
}

LoadedExecutable::LoadedExecutable(Ref<Client> client, Ref<Executable> executable, DeviceAssignment assignment)
    : client_(std::move(client)), executable_(std::move(executable)), assignment_(std::move(assignment)) {
  executable_->NoteOrigin(client_->platform_name(), client_->platform_version());
  for (int r = 0; r < assignment_.num_replicas && !assignment_.empty(); ++r) {
    for (int p = 0; p < assignment_.num_partitions; ++p) {
      Device* device = client_->FindDevice(assignment_.at(r, p));
      if (device == nullptr || !device->is_addressable()) continue;
      addressable_devices_.push_back(device);
      logical_ids_.push_back(PJRT_LogicalDeviceIds{r, p});
    }
  }
}

LoadedExecutable::~LoadedExecutable() = default;

Memory* LoadedExecutable::OutputMemory(const Device& device, size_t index) const {
  Memory* memory = client_->FindMemory(device, info().outputs[index].memory_kind);
  return memory == nullptr ? device.default_memory() : memory;
}

void LoadedExecutable::Fail(DeviceExecution& device, const Status& error) const {
  for (size_t i = 0; i < device.outputs.size(); ++i) {
    device.outputs[i] =
        Buffer::MakeError(device.device, OutputMemory(*device.device, i), info().outputs[i].array, error);
  }
  device.done = EventRef::Of(error);
}

void LoadedExecutable::MarkDeleted() {
  if (!deleted_.exchange(true, std::memory_order_acq_rel)) Delete();
}

}  // namespace tenon::plugin
