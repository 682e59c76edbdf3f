#include <fmt/format.h>

#include <cstring>

#include "tenon/plugin/bind.h"
#include "tenon/plugin/executable_arrays.h"

namespace tenon::plugin::bind {

TENON_BIND(PJRT_Executable_Destroy) {
  if (args.executable != nullptr) FromC(args.executable)->Release();
  return OkStatus();
}

TENON_BIND(PJRT_Executable_Name) {
  TENON_REQUIRE(executable);
  const std::string& name = FromC(args.executable)->info().name;
  args.executable_name = name.data();
  args.executable_name_size = name.size();
  return OkStatus();
}

TENON_BIND(PJRT_Executable_NumReplicas) {
  TENON_REQUIRE(executable);
  args.num_replicas = static_cast<size_t>(FromC(args.executable)->info().num_replicas);
  return OkStatus();
}

TENON_BIND(PJRT_Executable_NumPartitions) {
  TENON_REQUIRE(executable);
  args.num_partitions = static_cast<size_t>(FromC(args.executable)->info().num_partitions);
  return OkStatus();
}

TENON_BIND(PJRT_Executable_NumOutputs) {
  TENON_REQUIRE(executable);
  args.num_outputs = FromC(args.executable)->info().outputs.size();
  return OkStatus();
}

TENON_BIND(PJRT_Executable_SizeOfGeneratedCodeInBytes) {
  TENON_REQUIRE(executable);
  args.size_in_bytes = FromC(args.executable)->info().code_size_bytes;
  return OkStatus();
}

TENON_BIND(PJRT_Executable_Fingerprint) {
  TENON_REQUIRE(executable);
  const std::string& fingerprint = FromC(args.executable)->info().fingerprint;
  if (fingerprint.empty()) return Unimplemented("PJRT_Executable_Fingerprint: the executable has no fingerprint");
  args.executable_fingerprint = fingerprint.data();
  args.executable_fingerprint_size = fingerprint.size();
  return OkStatus();
}

TENON_BIND(PJRT_Executable_GetCostAnalysis) {
  TENON_REQUIRE(executable);
  const NamedValueArray& cost = FromC(args.executable)->c_arrays().cost;
  args.properties = cost.data();
  args.num_properties = cost.size();
  return OkStatus();
}

TENON_BIND(PJRT_Executable_GetCompiledMemoryStats) {
  TENON_REQUIRE(executable);
  const std::optional<CompiledMemoryStats>& stats = FromC(args.executable)->info().memory_stats;
  if (!stats) return Unimplemented("PJRT_Executable_GetCompiledMemoryStats: the executable keeps no figures");
  args.generated_code_size_in_bytes = stats->generated_code;
  args.argument_size_in_bytes = stats->arguments;
  args.output_size_in_bytes = stats->outputs;
  args.alias_size_in_bytes = stats->aliased;
  args.temp_size_in_bytes = stats->temporaries;
  args.host_generated_code_size_in_bytes = 0;
  args.host_argument_size_in_bytes = 0;
  args.host_output_size_in_bytes = 0;
  args.host_alias_size_in_bytes = 0;
  args.host_temp_size_in_bytes = 0;
  if (TENON_HAS(args, peak_memory_in_bytes)) args.peak_memory_in_bytes = stats->peak;
  if (TENON_HAS(args, total_size_in_bytes)) args.total_size_in_bytes = stats->total;
  if (TENON_HAS(args, total_allocation_bytes)) args.total_allocation_bytes = stats->total;
  if (TENON_HAS(args, indefinite_allocations)) args.indefinite_allocations = 0;
  if (TENON_HAS(args, peak_unpadded_heap_bytes)) args.peak_unpadded_heap_bytes = stats->peak;
  return OkStatus();
}

TENON_BIND(PJRT_Executable_OutputElementTypes) {
  TENON_REQUIRE(executable);
  const auto& types = FromC(args.executable)->c_arrays().output_types;
  args.output_types = const_cast<PJRT_Buffer_Type*>(types.data());
  args.num_output_types = types.size();
  return OkStatus();
}

TENON_BIND(PJRT_Executable_OutputDimensions) {
  TENON_REQUIRE(executable);
  const Executable::CArrays& arrays = FromC(args.executable)->c_arrays();
  args.num_outputs = arrays.output_ranks.size();
  args.dims = arrays.output_dims.data();
  args.dim_sizes = arrays.output_ranks.data();
  return OkStatus();
}

TENON_BIND(PJRT_Executable_OutputMemoryKinds) {
  TENON_REQUIRE(executable);
  const Executable::CArrays::Texts& kinds = FromC(args.executable)->c_arrays().output_memory_kinds;
  args.num_outputs = kinds.data.size();
  args.memory_kinds = kinds.data.data();
  args.memory_kind_sizes = kinds.sizes.data();
  return OkStatus();
}

TENON_BIND(PJRT_Executable_ParameterMemoryKinds) {
  TENON_REQUIRE(executable);
  const Executable::CArrays::Texts& kinds = FromC(args.executable)->c_arrays().parameter_memory_kinds;
  args.num_parameters = kinds.data.size();
  args.memory_kinds = kinds.data.data();
  args.memory_kind_sizes = kinds.sizes.data();
  return OkStatus();
}

// Called twice: without `code` for the sizes, then with it for the bytes.
TENON_BIND(PJRT_Executable_OptimizedProgram) {
  TENON_REQUIRE(executable);
  TENON_REQUIRE(program);
  const Result<Executable::ProgramText>& text = FromC(args.executable)->cached_program();
  if (!text.ok()) return text.status();
  PJRT_Program& program = *args.program;
  if (program.struct_size < PJRT_Program_STRUCT_SIZE)
    return TooSmall("PJRT_Program", program.struct_size, PJRT_Program_STRUCT_SIZE);
  if (program.code != nullptr) {
    if (program.code_size < text->code.size()) {
      return InvalidArgument(
          fmt::format("{}: expected `program->code_size` >= {}, got {}", fn, text->code.size(), program.code_size));
    }
    std::memcpy(program.code, text->code.data(), text->code.size());
  }
  program.code_size = text->code.size();
  program.format = text->format.data();
  program.format_size = text->format.size();
  return OkStatus();
}

TENON_BIND(PJRT_Executable_Serialize) {
  TENON_REQUIRE(executable);
  TENON_ASSIGN_OR_RETURN(std::string bytes, FromC(args.executable)->Serialize());
  args.serialized_executable =
      NewHolder<PJRT_SerializedExecutable>(std::move(bytes), &args.serialized_bytes, &args.serialized_bytes_size);
  args.serialized_executable_deleter = DeleteHolder<PJRT_SerializedExecutable>;
  return OkStatus();
}

TENON_BIND(PJRT_Executable_GetCompileOptions) {
  TENON_REQUIRE(executable);
  args.serialized_compile_options = NewHolder<PJRT_SerializedCompileOptions>(
      FromC(args.executable)->info().compile_options, &args.serialized_bytes, &args.serialized_bytes_size);
  args.serialized_compile_options_deleter = DeleteHolder<PJRT_SerializedCompileOptions>;
  return OkStatus();
}

}  // namespace tenon::plugin::bind
