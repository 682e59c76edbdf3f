#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tenon/emit_llvm/internal/x64/allocate.h"

namespace tenon::emit_llvm::x64 {

/// The function's bytes with its constants behind them: to be placed at a multiple of 64, anywhere. Nothing when an
/// instruction needs more scratch registers than there are. Arguments arrive as in the System V calling convention.
std::optional<std::vector<uint8_t>> Assemble(const Function& function, const std::vector<Location>& where);

}  // namespace tenon::emit_llvm::x64
