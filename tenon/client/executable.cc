#include "tenon/client/executable.h"

#include <fmt/format.h>

#include "tenon/abi/pjrt_layouts.h"
#include "tenon/abi/pjrt_shardings.h"
#include "tenon/client/internal/client_state.h"
#include "tenon/client/internal/extension.h"
#include "tenon/client/internal/layouts.h"
#include "tenon/client/internal/raw_enum.h"

namespace tenon::client {

using internal::Text;

namespace {
template <class Args>
Args ArgsFor(PJRT_Executable* executable) {
  auto args = MakeArgs<Args>();
  args.executable = executable;
  return args;
}

std::vector<std::string> Texts(const char* const* data, const size_t* sizes, size_t count) {
  std::vector<std::string> texts;
  if (data == nullptr) return texts;
  for (size_t i = 0; i < count; ++i) texts.push_back(Text(data[i], sizes[i]));
  return texts;
}
}  // namespace

Executable::Executable(const Api* api, PJRT_Executable* executable, std::shared_ptr<const void> owner)
    : api_(api), executable_(executable), owner_(std::move(owner)) {
  if (executable_ != nullptr) internal::Count(internal::Kind::kExecutable, 1);
}

Executable& Executable::operator=(Executable&& other) noexcept {
  if (this != &other) {
    Reset();
    api_ = other.api_;
    executable_ = std::exchange(other.executable_, nullptr);
    owner_ = std::move(other.owner_);
  }
  return *this;
}

void Executable::Reset() {
  if (executable_ == nullptr) return;
  auto args = ArgsFor<PJRT_Executable_Destroy_Args>(std::exchange(executable_, nullptr));
  (void)api_->Call(args);
  internal::Count(internal::Kind::kExecutable, -1);
  owner_.reset();
}

Status Executable::Check() const {
  return executable_ != nullptr ? OkStatus() : FailedPrecondition("this Executable was moved from");
}

Result<std::string> Executable::Name() const {
  TENON_RETURN_IF_ERROR(Check());
  auto args = ArgsFor<PJRT_Executable_Name_Args>(executable_);
  TENON_RETURN_IF_ERROR(api_->Call(args));
  return Text(args.executable_name, args.executable_name_size);
}

Result<size_t> Executable::NumReplicas() const {
  TENON_RETURN_IF_ERROR(Check());
  auto args = ArgsFor<PJRT_Executable_NumReplicas_Args>(executable_);
  TENON_RETURN_IF_ERROR(api_->Call(args));
  return args.num_replicas;
}

Result<size_t> Executable::NumPartitions() const {
  TENON_RETURN_IF_ERROR(Check());
  auto args = ArgsFor<PJRT_Executable_NumPartitions_Args>(executable_);
  TENON_RETURN_IF_ERROR(api_->Call(args));
  return args.num_partitions;
}

Result<size_t> Executable::NumOutputs() const {
  TENON_RETURN_IF_ERROR(Check());
  auto args = ArgsFor<PJRT_Executable_NumOutputs_Args>(executable_);
  TENON_RETURN_IF_ERROR(api_->Call(args));
  return args.num_outputs;
}

Result<int64_t> Executable::SizeOfGeneratedCodeInBytes() const {
  TENON_RETURN_IF_ERROR(Check());
  auto args = ArgsFor<PJRT_Executable_SizeOfGeneratedCodeInBytes_Args>(executable_);
  TENON_RETURN_IF_ERROR(api_->Call(args));
  return args.size_in_bytes;
}

Result<std::vector<Shape>> Executable::OutputShapes() const {
  TENON_RETURN_IF_ERROR(Check());
  auto types = ArgsFor<PJRT_Executable_OutputElementTypes_Args>(executable_);
  TENON_RETURN_IF_ERROR(api_->Call(types));
  auto dims = ArgsFor<PJRT_Executable_OutputDimensions_Args>(executable_);
  TENON_RETURN_IF_ERROR(api_->Call(dims));
  if (types.num_output_types != dims.num_outputs) {
    return Internal(fmt::format("{} gives {} output types and {} output shapes", api_->name(), types.num_output_types,
                                dims.num_outputs));
  }
  std::vector<Shape> shapes;
  const int64_t* next = dims.dims;
  for (size_t i = 0; i < dims.num_outputs; ++i) {
    Shape shape;
    shape.dtype = static_cast<DType>(internal::RawEnum(types.output_types[i]));
    for (size_t d = 0; d < dims.dim_sizes[i]; ++d) shape.dims.push_back(*next++);
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

Result<std::vector<std::string>> Executable::OutputMemoryKinds() const {
  TENON_RETURN_IF_ERROR(Check());
  auto args = ArgsFor<PJRT_Executable_OutputMemoryKinds_Args>(executable_);
  TENON_RETURN_IF_ERROR(api_->Call(args));
  return Texts(args.memory_kinds, args.memory_kind_sizes, args.num_outputs);
}

Result<std::vector<std::string>> Executable::ParameterMemoryKinds() const {
  TENON_RETURN_IF_ERROR(Check());
  auto args = ArgsFor<PJRT_Executable_ParameterMemoryKinds_Args>(executable_);
  TENON_RETURN_IF_ERROR(api_->Call(args));
  return Texts(args.memory_kinds, args.memory_kind_sizes, args.num_parameters);
}

Result<std::vector<std::string>> Executable::OutputLayouts() const {
  TENON_RETURN_IF_ERROR(Check());
  PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args args{};
  args.struct_size = PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args_STRUCT_SIZE;
  args.executable = executable_;
  TENON_RETURN_IF_ERROR(TENON_CALL_EXTENSION(*api_, PJRT_Extension_Type_Layouts, PJRT_Layouts_Extension,
                                             PJRT_Layouts_PJRT_Executable_GetOutputLayouts, args));
  std::vector<std::string> layouts;
  for (size_t i = 0; i < args.num_outputs; ++i) {
    TENON_ASSIGN_OR_RETURN(std::string text, internal::LayoutText(*api_, args.layouts[i]));
    layouts.push_back(std::move(text));
  }
  return layouts;
}

Result<std::vector<std::string>> Executable::ParameterLayouts() const {
  TENON_RETURN_IF_ERROR(Check());
  PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args args{};
  args.struct_size = PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args_STRUCT_SIZE;
  args.executable = executable_;
  TENON_RETURN_IF_ERROR(TENON_CALL_EXTENSION(*api_, PJRT_Extension_Type_Layouts, PJRT_Layouts_Extension,
                                             PJRT_Layouts_PJRT_Executable_GetParameterLayouts, args));
  std::vector<std::string> layouts;
  for (size_t i = 0; i < args.num_parameters; ++i) {
    TENON_ASSIGN_OR_RETURN(std::string text, internal::LayoutText(*api_, args.layouts[i]));
    layouts.push_back(std::move(text));
  }
  return layouts;
}

Result<std::vector<std::string>> Executable::OutputShardings() const {
  TENON_RETURN_IF_ERROR(Check());
  PJRT_Shardings_PJRT_Executable_OutputShardings_Args args{};
  args.struct_size = PJRT_Shardings_PJRT_Executable_OutputShardings_Args_STRUCT_SIZE;
  args.executable = executable_;
  TENON_RETURN_IF_ERROR(TENON_CALL_EXTENSION(*api_, PJRT_Extension_Type_Shardings, PJRT_Shardings_Extension,
                                             PJRT_Shardings_PJRT_Executable_OutputShardings, args));
  return Texts(args.shardings, args.sharding_sizes, args.num_outputs);
}

Result<std::vector<std::string>> Executable::ParameterShardings() const {
  TENON_RETURN_IF_ERROR(Check());
  PJRT_Shardings_PJRT_Executable_ParameterShardings_Args args{};
  args.struct_size = PJRT_Shardings_PJRT_Executable_ParameterShardings_Args_STRUCT_SIZE;
  args.executable = executable_;
  TENON_RETURN_IF_ERROR(TENON_CALL_EXTENSION(*api_, PJRT_Extension_Type_Shardings, PJRT_Shardings_Extension,
                                             PJRT_Shardings_PJRT_Executable_ParameterShardings, args));
  return Texts(args.shardings, args.sharding_sizes, args.num_parameters);
}

Result<std::string> Executable::Fingerprint() const {
  TENON_RETURN_IF_ERROR(Check());
  auto args = ArgsFor<PJRT_Executable_Fingerprint_Args>(executable_);
  TENON_RETURN_IF_ERROR(api_->Call(args));
  return Text(args.executable_fingerprint, args.executable_fingerprint_size);
}

Result<std::vector<NamedValue>> Executable::CostAnalysis() const {
  TENON_RETURN_IF_ERROR(Check());
  auto args = ArgsFor<PJRT_Executable_GetCostAnalysis_Args>(executable_);
  TENON_RETURN_IF_ERROR(api_->Call(args));
  return FromC(args.properties, args.num_properties);
}

Result<CompiledMemoryStats> Executable::MemoryStats() const {
  TENON_RETURN_IF_ERROR(Check());
  auto args = ArgsFor<PJRT_Executable_GetCompiledMemoryStats_Args>(executable_);
  // Plugins write only what their version has.
  args.peak_memory_in_bytes = args.total_size_in_bytes = args.total_allocation_bytes = -1;
  args.indefinite_allocations = args.peak_unpadded_heap_bytes = -1;
  TENON_RETURN_IF_ERROR(api_->Call(args));
  CompiledMemoryStats s;
  s.generated_code = args.generated_code_size_in_bytes;
  s.arguments = args.argument_size_in_bytes;
  s.outputs = args.output_size_in_bytes;
  s.aliased = args.alias_size_in_bytes;
  s.temporaries = args.temp_size_in_bytes;
  s.host_generated_code = args.host_generated_code_size_in_bytes;
  s.host_arguments = args.host_argument_size_in_bytes;
  s.host_outputs = args.host_output_size_in_bytes;
  s.host_aliased = args.host_alias_size_in_bytes;
  s.host_temporaries = args.host_temp_size_in_bytes;
  s.peak = args.peak_memory_in_bytes;
  s.total = args.total_size_in_bytes;
  s.total_allocation = args.total_allocation_bytes;
  s.indefinite_allocations = args.indefinite_allocations;
  s.peak_unpadded_heap = args.peak_unpadded_heap_bytes;
  return s;
}

Result<Program> Executable::OptimizedProgram() const {
  TENON_RETURN_IF_ERROR(Check());
  PJRT_Program c{};
  c.struct_size = PJRT_Program_STRUCT_SIZE;
  auto args = ArgsFor<PJRT_Executable_OptimizedProgram_Args>(executable_);
  args.program = &c;
  TENON_RETURN_IF_ERROR(api_->Call(args));  // sizes
  Program program{std::string(c.code_size, '\0'), ""};
  c.code = program.code.data();
  TENON_RETURN_IF_ERROR(api_->Call(args));
  program.code.resize(c.code_size);
  program.format = Text(c.format, c.format_size);
  return program;
}

Result<std::string> Executable::Serialize() const {
  TENON_RETURN_IF_ERROR(Check());
  auto args = ArgsFor<PJRT_Executable_Serialize_Args>(executable_);
  TENON_RETURN_IF_ERROR(api_->Call(args));
  std::string bytes = Text(args.serialized_bytes, args.serialized_bytes_size);
  if (args.serialized_executable_deleter != nullptr) args.serialized_executable_deleter(args.serialized_executable);
  return bytes;
}

Result<std::string> Executable::SerializedCompileOptions() const {
  TENON_RETURN_IF_ERROR(Check());
  auto args = ArgsFor<PJRT_Executable_GetCompileOptions_Args>(executable_);
  TENON_RETURN_IF_ERROR(api_->Call(args));
  std::string bytes = Text(args.serialized_bytes, args.serialized_bytes_size);
  if (args.serialized_compile_options_deleter != nullptr) {
    args.serialized_compile_options_deleter(args.serialized_compile_options);
  }
  return bytes;
}

}  // namespace tenon::client
