#include "tenon/client/phase_compile.h"

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "tenon/abi/pjrt_phase_compile.h"
#include "tenon/client/internal/client_state.h"
#include "tenon/client/internal/extension.h"
#include "tenon/client/topology.h"

#define TENON_CALL_PHASE_COMPILE(api, Function, args) \
  TENON_CALL_EXTENSION((api), PJRT_Extension_Type_PhaseCompile, PJRT_PhaseCompile_Extension, Function, (args))

namespace tenon::client {
namespace {

// Field numbers of xla.PjRtPartialProgramProto.
enum : protozero::pbf_tag_type { kCode = 1, kFormat = 2, kMadeBy = 3, kNextPhases = 4, kVersion = 5 };

// Texts as the C interface takes them; valid while `texts` are.
struct TextArrays {
  explicit TextArrays(std::span<const std::string> texts) {
    for (const std::string& text : texts) {
      data.push_back(text.data());
      sizes.push_back(text.size());
    }
  }
  std::vector<const char*> data;
  std::vector<size_t> sizes;
};

}  // namespace

std::string PartialProgram::Serialize() const {
  std::string bytes;
  protozero::pbf_writer out(bytes);
  if (!code.empty()) out.add_bytes(kCode, code);
  if (!format.empty()) out.add_string(kFormat, format);
  if (!made_by.empty()) out.add_string(kMadeBy, made_by);
  for (const std::string& phase : next_phases) out.add_string(kNextPhases, phase);
  if (!version.empty()) out.add_string(kVersion, version);
  return bytes;
}

Result<PartialProgram> PartialProgram::Parse(std::string_view bytes) {
  PartialProgram program;
  // protozero throws on malformed input.
  try {
    protozero::pbf_reader in(bytes.data(), bytes.size());
    while (in.next()) {
      if (in.wire_type() != protozero::pbf_wire_type::length_delimited) {
        in.skip();
        continue;
      }
      switch (in.tag()) {
        case kCode:
          program.code = in.get_bytes();
          break;
        case kFormat:
          program.format = in.get_string();
          break;
        case kMadeBy:
          program.made_by = in.get_string();
          break;
        case kNextPhases:
          program.next_phases.push_back(in.get_string());
          break;
        case kVersion:
          program.version = in.get_string();
          break;
        default:
          in.skip();
      }
    }
  } catch (const protozero::exception&) {
    return DataLoss("the bytes are no xla.PjRtPartialProgramProto");
  }
  return program;
}

PhaseCompiler::PhaseCompiler(const Api* api, const PJRT_PhaseCompiler* compiler) : api_(api), compiler_(compiler) {
  internal::Count(internal::Kind::kOther, 1);
}

PhaseCompiler& PhaseCompiler::operator=(PhaseCompiler&& other) noexcept {
  if (this != &other) {
    Reset();
    api_ = other.api_;
    compiler_ = std::exchange(other.compiler_, nullptr);
  }
  return *this;
}

void PhaseCompiler::Reset() {
  if (compiler_ == nullptr) return;
  PJRT_PhaseCompile_Destroy_Compiler_Args args{};
  args.struct_size = PJRT_PhaseCompile_Destroy_Compiler_Args_STRUCT_SIZE;
  args.phase_compiler = std::exchange(compiler_, nullptr);
  (void)TENON_CALL_PHASE_COMPILE(*api_, phase_compile_destroy_compiler, args);
  internal::Count(internal::Kind::kOther, -1);
}

Status PhaseCompiler::Check(const char* what) const {
  if (compiler_ != nullptr) return OkStatus();
  return FailedPrecondition("PhaseCompiler::" + std::string(what) + ": this PhaseCompiler was moved from");
}

std::vector<std::string> PhaseCompiler::Take(const char** texts, const size_t* sizes, size_t count) const {
  std::vector<std::string> copies;
  for (size_t i = 0; i < count; ++i) copies.push_back(internal::Text(texts[i], sizes[i]));
  PJRT_PhaseCompile_C_Buffers_Destroy_Args args{};
  args.struct_size = PJRT_PhaseCompile_C_Buffers_Destroy_Args_STRUCT_SIZE;
  args.char_buffers = texts;
  args.char_buffer_sizes = sizes;
  args.num_char_buffers = count;
  (void)TENON_CALL_PHASE_COMPILE(*api_, phase_compile_c_buffers_destroy, args);
  return copies;
}

Result<PhaseCompiler> PhaseCompiler::Create(const Plugin& plugin) {
  PJRT_PhaseCompile_Get_Compiler_Args args{};
  args.struct_size = PJRT_PhaseCompile_Get_Compiler_Args_STRUCT_SIZE;
  TENON_RETURN_IF_ERROR(TENON_CALL_PHASE_COMPILE(plugin.api(), phase_compile_get_compiler, args));
  return PhaseCompiler(&plugin.api(), args.phase_compiler);
}

Result<std::vector<std::string>> PhaseCompiler::PhaseNames() const {
  TENON_RETURN_IF_ERROR(Check("PhaseNames"));
  PJRT_PhaseCompile_Get_PhaseNames_Args args{};
  args.struct_size = PJRT_PhaseCompile_Get_PhaseNames_Args_STRUCT_SIZE;
  args.phase_compiler = compiler_;
  TENON_RETURN_IF_ERROR(TENON_CALL_PHASE_COMPILE(*api_, phase_compile_get_phase_names, args));
  return Take(args.phase_names, args.phase_names_sizes, args.num_phase_names);
}

Result<std::vector<std::string>> PhaseCompiler::RunSerialized(std::span<const std::string> programs,
                                                              std::span<const std::string> phases,
                                                              const Topology& topology,
                                                              const CompileOptions& options) const {
  TENON_RETURN_IF_ERROR(Check("Run"));
  if (&topology.api() != api_) {
    return InvalidArgument("PhaseCompiler::Run: the compiler is that of " + api_->name() + ", the topology that of " +
                           topology.api().name());
  }
  TENON_ASSIGN_OR_RETURN(const std::string serialized_options, options.Serialize());
  TextArrays inputs(programs), names(phases);
  PJRT_PhaseCompile_Run_Phase_Args args{};
  args.struct_size = PJRT_PhaseCompile_Run_Phase_Args_STRUCT_SIZE;
  args.phase_compiler = compiler_;
  args.input_programs = inputs.data.data();
  args.input_programs_sizes = inputs.sizes.data();
  args.num_input_programs = inputs.data.size();
  args.phases_to_run = names.data.data();
  args.phases_to_run_sizes = names.sizes.data();
  args.num_phases_to_run = names.data.size();
  args.compile_options = serialized_options.data();
  args.compile_options_size = serialized_options.size();
  args.topology = topology.get();
  TENON_RETURN_IF_ERROR(TENON_CALL_PHASE_COMPILE(*api_, phase_compile_run_phases, args));
  return Take(args.output_programs, args.output_programs_sizes, args.num_output_programs);
}

Result<std::vector<PartialProgram>> PhaseCompiler::Run(std::span<const PartialProgram> programs,
                                                       std::span<const std::string> phases, const Topology& topology,
                                                       const CompileOptions& options) const {
  std::vector<std::string> inputs;
  for (const PartialProgram& program : programs) inputs.push_back(program.Serialize());
  TENON_ASSIGN_OR_RETURN(const std::vector<std::string> outputs, RunSerialized(inputs, phases, topology, options));
  std::vector<PartialProgram> results;
  for (const std::string& output : outputs) {
    TENON_ASSIGN_OR_RETURN(PartialProgram program, PartialProgram::Parse(output));
    results.push_back(std::move(program));
  }
  return results;
}

}  // namespace tenon::client
