#pragma once

// Kernels that change a part of a copy.

#include <utility>
#include <vector>

#include "tenon/compiler/fuse/fuse.h"

namespace tenon::compiler {

/// Lets kernels that change a part of a copy, and read the original where and before they write alone, read the copy:
/// then nobody needs the original behind the copy, which may be none. The pairs of slots (write, read) that have one
/// memory now.
std::vector<std::pair<plan::SlotId, plan::SlotId>> ReadOwnCopies(FusedProgram& program);

}  // namespace tenon::compiler
