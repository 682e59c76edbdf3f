#pragma once

#include <optional>
#include <string>

#include "tenon/emit_llvm/internal/x64/lir.h"
#include "tenon/isa/isa.h"

namespace llvm {
class Function;
}

namespace tenon::emit_llvm::x64 {

/// The function in machine instructions. Nothing when it has something that there is no selection for; `reason` says
/// what: an operation and its types.
/// `avx2`: for AVX2 instead of AVX-512; `extras`: what there is beside it.
std::optional<Function> Select(const llvm::Function& function, bool avx2, const isa::IsaExtras& extras,
                               std::string* reason);

}  // namespace tenon::emit_llvm::x64
