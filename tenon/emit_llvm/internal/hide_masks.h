#pragma once

#include <llvm/IR/Function.h>

#include "tenon/isa/isa.h"

namespace tenon::emit_llvm {

/// Keeps LLVM's code generator (22) from what it makes of masks that it knows, in part or whole.
/// - AVX2: of a masked access of two registers whose second half is known to be off by an `and` or a `select` it makes
///   one of all lanes, which reads and writes what lies behind. Such masks go through memory.
/// - AVX-512: of a masked store of truncated elements with one lane on it makes a store of the element before it was
///   truncated, which writes over the next ones. Such lanes are stored without a mask.
void HideKnownMasks(llvm::Function& function, isa::IsaLevel isa);

}  // namespace tenon::emit_llvm
