#pragma once

/// Steps over logical buffers to a plan: which buffers share memory, which arguments outputs take over, where
/// temporaries lie.

#include "tenon/compiler/fuse/fuse.h"
#include "tenon/plan/plan.h"

namespace tenon::compiler {

/// Which output an argument's memory may go to.
struct Donation {
  int32_t aliasing_output = -1;  ///< This one, by the program's word.
  bool donor = false;            ///< Any of the same size.
};

/// The plan; unverified. `donations`: one per input.
plan::Plan Schedule(FusedProgram program, const std::vector<Donation>& donations, const target::Target& target);

}  // namespace tenon::compiler
