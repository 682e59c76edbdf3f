#include "tenon/host/front_end.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>
#include <vector>

#include "tenon/base/environment.h"
#include "tenon/base/log.h"
#include "tenon/host/inspect_sharding.h"
#include "tenon/host/partitioners.h"

namespace tenon::host {

Status CheckDumpDir() {
  const char* root = std::getenv("TENON_DUMP_DIR");
  if (root == nullptr || *root == '\0') return OkStatus();
  std::error_code error;
  std::filesystem::create_directories(root, error);
  if (!error && ::access(root, W_OK | X_OK) != 0) error = std::error_code(errno, std::generic_category());
  if (!error) return OkStatus();
  return InvalidArgument(
      fmt::format("TENON_DUMP_DIR is '{}', wanted a folder that can be written: {}", root, error.message()));
}

std::string NewDumpDir() {
  const char* root = std::getenv("TENON_DUMP_DIR");
  if (root == nullptr || *root == '\0') return {};
  static std::atomic<int> number{0};
  std::filesystem::path dir = std::filesystem::path(root) / fmt::format("{:04d}", number.fetch_add(1));
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  if (error) {
    Log(LogLevel::kWarning, fmt::format("TENON_DUMP_DIR: cannot make {}: {}", dir.string(), error.message()));
    return {};
  }
  return dir.string();
}

void WriteDump(const std::string& dir, const std::string& name, std::string_view text) {
  std::ofstream out(dir + "/" + name, std::ios::binary);
  out << text;
}

namespace {

compiler::CompileOptions FrontOptions(const plugin::CompileOptions& options, const target::Target& target,
                                      const drivers::Registry& drivers, const compiler::Processes& processes) {
  compiler::CompileOptions front;
  front.processes = processes;
  front.target = target;
  front.drivers = &drivers;
  front.verify = IsAskedFor("TENON_VERIFY");
  front.num_replicas = options.num_replicas;
  front.num_partitions = options.num_partitions;
  const auto minor_to_major = [](const plugin::ArraySpec& spec) {
    std::vector<int64_t> order(spec.minor_to_major.begin(), spec.minor_to_major.end());
    for (size_t i = spec.shape.rank(); order.size() < spec.shape.rank();) order.push_back(static_cast<int64_t>(--i));
    return order;
  };
  for (const auto& layout : options.argument_layouts) {
    front.argument_layouts.push_back(layout ? minor_to_major(*layout) : std::vector<int64_t>());
  }
  if (options.result_layout) front.result_layouts.push_back(minor_to_major(*options.result_layout));
  return front;
}

}  // namespace

Result<compiler::CompiledProgram> CompileProgram(std::string_view program, const plugin::CompileOptions& options,
                                                 const target::Target& target, const drivers::Registry& drivers,
                                                 const std::string& dump_dir, bool is_new,
                                                 const compiler::Processes& processes) {
  compiler::CompileOptions front = FrontOptions(options, target, drivers, processes);
  front.dump_dir = dump_dir;
  std::optional<std::string> partitioned;
  if (is_new) {
    TENON_ASSIGN_OR_RETURN(partitioned,
                           compiler::RunPartitioners(program, options.num_partitions, RegisteredPartitioners()));
    if (partitioned) program = *partitioned;
  }
  TENON_ASSIGN_OR_RETURN(compiler::CompiledProgram about, compiler::Compile(program, front));
  if (is_new) TENON_RETURN_IF_ERROR(TellShardings(about.inspected));
  about.inspected.clear();
  return about;
}

Result<std::string> OptimizedProgram(const compiler::CompiledProgram& about, const plugin::CompileOptions& options,
                                     const target::Target& target, const drivers::Registry& drivers) {
  return compiler::OptimizedStablehlo(about.source, FrontOptions(options, target, drivers, about.processes),
                                      about.kernel_nodes);
}

void AddSpans(const compiler::CompiledProgram& about, int64_t start_ns) {
  const compiler::CompileStatistics& s = about.statistics;
  const std::pair<const char*, int64_t> phases[] = {{"import", s.import_ns},
                                                    {"simplify", s.simplify_ns},
                                                    {"fuse", s.fuse_ns},
                                                    {"schedule", s.schedule_ns},
                                                    {"verify", s.verify_ns}};
  activity::Label whole{"compile " + about.name, {{"op_count", static_cast<double>(s.ops)}}, {{"module", about.name}}};
  activity::Add(activity::Intern(std::move(whole)), start_ns, activity::NowNs());
  for (const auto& [name, ns] : phases) {
    activity::Add(activity::Intern({name, {}, {{"module", about.name}}}), start_ns, start_ns + ns);
    start_ns += ns;
  }
}

const activity::Label* ExecutionLabel(const compiler::CompiledProgram& about, int32_t device) {
  activity::Label label{about.name, {{"flops", about.flops}}, {{"hlo_module", about.name}}};
  if (device >= 0) label.numbers.emplace_back("device_ordinal", device);
  return activity::Intern(std::move(label));
}

}  // namespace tenon::host
