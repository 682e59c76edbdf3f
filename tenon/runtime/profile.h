#pragma once

/// Time and work of each step of a program, kept while it runs, for whoever wants to see where time goes and how far
/// the target's model of the machine is off.

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "tenon/base/activity.h"
#include "tenon/plan/plan.h"
#include "tenon/target/target.h"
#include "tenon/target/work.h"

namespace tenon::runtime {

/// One step. The first three numbers grow while programs run, on any thread; the rest is fixed.
struct StepProfile {
  std::atomic<int64_t> runs{0};
  std::atomic<int64_t> total_ns{0};
  std::atomic<int64_t> least_ns{INT64_MAX};  ///< The shortest run.

  int depth = 0;           ///< Loops and branches around it; their time includes that of what is inside.
  std::string kind;        ///< "kernel", "copy", "loop", "case", "carry", "evaluate", "call", or a driver's name.
  std::string what;        ///< One line: "2: f32[64,128], f32[128] -> f32[64]; exp add mul".
  std::string from;        ///< OriginsText.
  target::Work work;       ///< Of one run; none for loops and branches.
  double estimate_ns = 0;  ///< Of `work` on one core of the target.

  void Record(int64_t ns);
};

class Profile {
 public:
  explicit Profile(std::string program) : program_(std::move(program)) { whole_.kind = "program"; }

  const std::string& program() const { return program_; }
  /// Runs of the program as a whole.
  StepProfile& whole() { return whole_; }
  /// In the order of the plan. Adding is for whoever binds it, before anything runs; addresses are stable.
  std::deque<StepProfile>& steps() { return steps_; }

  /// Tab-separated lines, a step each, without the names of the columns.
  std::string Lines() const;
  /// Their names, separated alike, and a line's end.
  static std::string_view Columns();

 private:
  std::string program_;
  StepProfile whole_;
  std::deque<StepProfile> steps_;
};

/// The operations of a kernel that take time, by name: "add exp mul"; "moves" where there are none.
std::string OpsText(const kir::Kernel& kernel);

/// The client's ops behind a step, by where they were written: "model.py:12 add exp, model.py:14 dot_general". One
/// line; of many places the last ones. Empty where nothing is known.
std::string OriginsText(const plan::Plan& plan, const plan::Step& step);

/// What a profiler calls a step of a verified plan: "kernel 2: exp add", with its flops and bytes of one run, what
/// it does, and where it was written.
activity::Label LabelOf(const plan::Plan& plan, const plan::Step& step);

/// Fills in the fixed part of a step of a verified plan, but for its depth.
void Describe(const plan::Plan& plan, const plan::Step& step, const target::Target& target, StepProfile& to);

}  // namespace tenon::runtime
