#pragma once

#include <vector>

#include "tenon/emit_llvm/internal/x64/allocate.h"

namespace tenon::emit_llvm::x64 {

/// Where values that have no register get one for a while.
enum class SplitAt {
  kLoops,   ///< In innermost loops that only use them, and otherwise as kBlocks.
  kBlocks,  ///< Where uses, and the definition, stand close together in a block.
};

/// Rewrites the function so that values which `where` leaves in memory can have registers where they are used: there
/// they go by another name (Function::copy_of), which is copied from them before the first of those uses, or to them
/// after their definition. Whoever has no register after all stays where the value is, and its copy is nothing. Whether
/// there was anything to do. Linear in the instructions.
bool Split(Function& function, const std::vector<Location>& where, SplitAt at);

/// How often each block runs for every time that the function does, guessed.
std::vector<float> TimesOf(const Function& function);

}  // namespace tenon::emit_llvm::x64
