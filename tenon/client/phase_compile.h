#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/client/compile_options.h"
#include "tenon/client/plugin.h"

struct PJRT_PhaseCompiler;

namespace tenon::client {

class Topology;

/// What stands between two phases of a compiler: a serialized xla.PjRtPartialProgramProto, taken apart.
struct PartialProgram {
  std::string code;
  /// What `code` is, in the plugin's words.
  std::string format = {};
  /// The phase that made it; empty for a program that has seen none.
  std::string made_by = {};
  /// The phases that may come next.
  std::vector<std::string> next_phases = {};
  std::string version = {};

  std::string Serialize() const;
  /// DATA_LOSS for bytes that are no such message.
  static Result<PartialProgram> Parse(std::string_view bytes);
  friend bool operator==(const PartialProgram&, const PartialProgram&) = default;
};

/// Runs single phases of a plugin's compiler (phase compile extension, experimental). Moves only; one that was moved
/// from answers FAILED_PRECONDITION. Needs no client.
class PhaseCompiler {
 public:
  /// UNIMPLEMENTED without the extension.
  static Result<PhaseCompiler> Create(const Plugin& plugin);
  PhaseCompiler(PhaseCompiler&& other) noexcept
      : api_(other.api_), compiler_(std::exchange(other.compiler_, nullptr)) {}
  PhaseCompiler& operator=(PhaseCompiler&& other) noexcept;
  ~PhaseCompiler() { Reset(); }

  /// In the order in which they run.
  Result<std::vector<std::string>> PhaseNames() const;
  /// Runs `phases`, which follow each other, over `programs`.
  Result<std::vector<PartialProgram>> Run(std::span<const PartialProgram> programs, std::span<const std::string> phases,
                                          const Topology& topology, const CompileOptions& options = {}) const;
  /// The same over serialized programs, passed as they are.
  Result<std::vector<std::string>> RunSerialized(std::span<const std::string> programs,
                                                 std::span<const std::string> phases, const Topology& topology,
                                                 const CompileOptions& options = {}) const;

 private:
  PhaseCompiler(const Api* api, const PJRT_PhaseCompiler* compiler);
  Status Check(const char* what) const;
  void Reset();
  /// A copy of texts that the plugin allocated; frees those.
  std::vector<std::string> Take(const char** texts, const size_t* sizes, size_t count) const;
  const Api* api_;
  const PJRT_PhaseCompiler* compiler_;
};

}  // namespace tenon::client
