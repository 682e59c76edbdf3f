#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "tenon/client/plugin.h"

struct PLUGIN_Profiler;
struct PLUGIN_Profiler_Api;

namespace tenon::client {

/// A plugin's own profiler (profiler extension). Moves only; one that was moved from answers FAILED_PRECONDITION.
/// Start, run programs, Stop, Collect.
class Profiler {
 public:
  /// `options` is a serialized tensorflow.ProfileOptions; empty asks for the defaults. UNIMPLEMENTED without the
  /// extension.
  static Result<Profiler> Create(const Plugin& plugin, std::string_view options = {});
  Profiler(Profiler&& other) noexcept : api_(other.api_), profiler_(std::exchange(other.profiler_, nullptr)) {}
  Profiler& operator=(Profiler&&) = delete;
  ~Profiler();

  Status Start();
  Status Stop();
  /// What was recorded: a serialized tensorflow.profiler.XSpace.
  Result<std::string> Collect();
  /// The same by way of newer entries, which take the record out of the profiler: it can start afresh.
  Result<std::string> Consume();

 private:
  Profiler(const PLUGIN_Profiler_Api* api, PLUGIN_Profiler* profiler);
  Status Check() const;
  const PLUGIN_Profiler_Api* api_;
  PLUGIN_Profiler* profiler_;
};

}  // namespace tenon::client
