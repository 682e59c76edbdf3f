#pragma once

#include <optional>
#include <string>

#include "tenon/emit_llvm/internal/x64/assemble.h"
#include "tenon/isa/isa.h"

namespace llvm {
class Function;
}

namespace tenon::emit_llvm::x64 {

/// Machine code for one function as the emitter writes them for kAvx2 and kAvx512, made in three passes without LLVM's
/// code generator: some thirty times faster, and no slower when it runs. Self-contained (constants follow the code), to
/// be placed at any multiple of 64. Nothing when the function has something that is left to LLVM (see README.md);
/// `reason` says what. The function may be rewritten to another one of the same meaning. `extras`: what the machine has
/// beyond the level.
std::optional<Code> Compile(llvm::Function& function, isa::IsaLevel level, const isa::IsaExtras& extras,
                            std::string* reason, const Registers& registers = {});

}  // namespace tenon::emit_llvm::x64
