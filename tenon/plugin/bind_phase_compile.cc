// Single phases of the compiler, over programs in between as serialized xla.PjRtPartialProgramProto.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "tenon/abi/pjrt_phase_compile.h"
#include "tenon/plugin/bind.h"
#include "tenon/plugin/bind_extension.h"

// The handle: phases are the plugin's, so it only stands for them.
struct PJRT_PhaseCompiler {
  [[no_unique_address]] tenon::plugin::internal::Counted<tenon::plugin::ObjectKind::kPhaseCompile> counted = {};
};

namespace tenon::plugin::bind {

namespace {

// Texts of the plugin's own, as the two arrays that callers give back together. Callers know the address of data[1]:
// the list's own stands before it.
struct TextList {
  std::vector<std::string> texts;
  std::vector<const char*> data;
  std::vector<size_t> sizes;
  [[no_unique_address]] internal::Counted<ObjectKind::kPhaseCompile> counted = {};
};

void GiveTexts(std::vector<std::string> texts, const char**& data, const size_t*& sizes, size_t& count) {
  auto list = std::make_unique<TextList>();
  list->texts = std::move(texts);
  for (const std::string& text : list->texts) list->sizes.push_back(text.size());
  list->data.push_back(reinterpret_cast<const char*>(list.get()));
  for (const std::string& text : list->texts) list->data.push_back(text.c_str());
  count = list->texts.size();
  sizes = list->sizes.data();
  data = list->data.data() + 1;
  (void)list.release();
}

Result<PartialProgram> ReadPartial(std::string_view fn, std::string_view bytes) {
  PartialProgram program;
  try {
    protozero::pbf_reader reader(bytes.data(), bytes.size());
    while (reader.next()) {
      switch (reader.tag_and_type()) {
        case protozero::tag_and_type(1, protozero::pbf_wire_type::length_delimited):
          program.code = reader.get_string();
          break;
        case protozero::tag_and_type(2, protozero::pbf_wire_type::length_delimited):
          program.format = reader.get_string();
          break;
        case protozero::tag_and_type(3, protozero::pbf_wire_type::length_delimited):
          program.made_by = reader.get_string();
          break;
        case protozero::tag_and_type(6, protozero::pbf_wire_type::length_delimited):
          program.name = reader.get_string();
          break;
        default:
          reader.skip();
      }
    }
  } catch (const protozero::exception&) {
    return InvalidArgument(
        fmt::format("{}: an input of {} bytes is no partial program (PjRtPartialProgramProto)", fn, bytes.size()));
  }
  return program;
}

std::string WritePartial(const PartialProgram& program, std::string_view next_phase) {
  std::string bytes;
  protozero::pbf_writer w(bytes);
  w.add_bytes(1, program.code);
  w.add_string(2, program.format);
  w.add_string(3, program.made_by);
  if (!next_phase.empty()) w.add_string(4, next_phase.data(), next_phase.size());
  if (!program.name.empty()) w.add_string(6, program.name);
  return bytes;
}

}  // namespace

TENON_BIND_EXTENSION(PJRT_PhaseCompile_Get_Compiler) {
  args.phase_compiler = new PJRT_PhaseCompiler;
  return OkStatus();
}

static void DestroyCompiler(PJRT_PhaseCompile_Destroy_Compiler_Args* args) {
  if (args != nullptr) delete args->phase_compiler;
}

TENON_BIND_EXTENSION(PJRT_PhaseCompile_Get_PhaseNames) {
  TENON_REQUIRE(phase_compiler);
  GiveTexts(ThePlugin().phase_names(), args.phase_names, args.phase_names_sizes, args.num_phase_names);
  return OkStatus();
}

// Phases run in the plugin's order: a list that leaves it is refused before anything runs.
TENON_BIND_EXTENSION(PJRT_PhaseCompile_Run_Phase) {
  TENON_REQUIRE(phase_compiler);
  TENON_REQUIRE(topology);
  TENON_REQUIRE_ARRAY(input_programs, num_input_programs);
  TENON_REQUIRE_ARRAY(input_programs_sizes, num_input_programs);
  TENON_REQUIRE_ARRAY(phases_to_run, num_phases_to_run);
  TENON_REQUIRE_ARRAY(phases_to_run_sizes, num_phases_to_run);
  if (args.num_phases_to_run == 0) return InvalidArgument(fmt::format("{}: no phase is named", fn));
  const std::vector<std::string> names = ThePlugin().phase_names();
  std::vector<std::string> phases;
  size_t first = 0;
  for (size_t i = 0; i < args.num_phases_to_run; ++i) {
    if (args.phases_to_run[i] == nullptr) return NullArgument(fn, "phases_to_run[i]");
    phases.emplace_back(args.phases_to_run[i], args.phases_to_run_sizes[i]);
    const auto at = std::find(names.begin(), names.end(), phases.back());
    if (at == names.end()) {
      return InvalidArgument(
          fmt::format("{}: there is no phase '{}', only '{}'", fn, phases.back(), fmt::join(names, "', '")));
    }
    const auto place = static_cast<size_t>(at - names.begin());
    if (i == 0) first = place;
    if (place != first + i) {
      return InvalidArgument(fmt::format("{}: phase '{}' does not follow '{}'; the order is '{}'", fn, phases.back(),
                                         phases[i - 1], fmt::join(names, "', '")));
    }
  }
  TENON_ASSIGN_OR_RETURN(const CompileOptions options,
                         DecodeCallersCompileOptions(fn, args.compile_options, args.compile_options_size));
  const size_t end = first + phases.size();
  const std::string_view next = end < names.size() ? std::string_view(names[end]) : std::string_view();
  std::vector<std::string> outputs;
  for (size_t i = 0; i < args.num_input_programs; ++i) {
    if (args.input_programs[i] == nullptr) return NullArgument(fn, "input_programs[i]");
    TENON_ASSIGN_OR_RETURN(PartialProgram program,
                           ReadPartial(fn, {args.input_programs[i], args.input_programs_sizes[i]}));
    for (const std::string& phase : phases) {
      Result<PartialProgram> made = ThePlugin().RunPhase(phase, program, options, *FromC(args.topology));
      if (!made.ok()) return made.status().WithContext(fmt::format("phase '{}'", phase));
      if (made->name.empty()) made->name = program.name;
      program = *std::move(made);
      program.made_by = phase;
    }
    outputs.push_back(WritePartial(program, next));
  }
  GiveTexts(std::move(outputs), args.output_programs, args.output_programs_sizes, args.num_output_programs);
  return OkStatus();
}

static void DestroyTexts(PJRT_PhaseCompile_C_Buffers_Destroy_Args* args) {
  if (args == nullptr || args->char_buffers == nullptr) return;
  delete reinterpret_cast<const TextList*>(args->char_buffers[-1]);
}

PJRT_Extension_Base* PhaseCompileExtension(PJRT_Extension_Base* next) {
  if (ThePlugin().phase_names().empty()) return next;
  static PJRT_PhaseCompile_Extension extension = {
      .base = {.struct_size = PJRT_PhaseCompile_Extension_STRUCT_SIZE,
               .type = PJRT_Extension_Type_PhaseCompile,
               .next = next},
      .phase_compile_get_compiler = Bind_PJRT_PhaseCompile_Get_Compiler,
      .phase_compile_destroy_compiler = DestroyCompiler,
      .phase_compile_run_phases = Bind_PJRT_PhaseCompile_Run_Phase,
      .phase_compile_get_phase_names = Bind_PJRT_PhaseCompile_Get_PhaseNames,
      .phase_compile_c_buffers_destroy = DestroyTexts,
  };
  return &extension.base;
}

}  // namespace tenon::plugin::bind
