#pragma once

#include <cstdint>
#include <vector>

#include "tenon/compiler/ir/ir.h"

namespace tenon::compiler {

/// How often each node's results are asked for, inner blocks and results of blocks included.
std::vector<uint32_t> CountUses(const Program& program);

}  // namespace tenon::compiler
