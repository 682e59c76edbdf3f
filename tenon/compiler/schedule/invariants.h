#pragma once

// Steps that do the same in every trip of a loop.

#include "tenon/compiler/fuse/fuse.h"

namespace tenon::compiler {

/// Moves the steps of loops' bodies that read nothing that a trip changes, and all whose memory only such steps write,
/// before the loop, out of as many loops as they can leave: how a value from outside comes to lie as the body wants it,
/// say. They run even where the loop has no trip. Near-linear in the number of steps.
void HoistInvariantSteps(FusedProgram& program);

}  // namespace tenon::compiler
