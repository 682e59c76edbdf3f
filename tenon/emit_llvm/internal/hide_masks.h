#pragma once

#include <llvm/IR/Function.h>

namespace tenon::emit_llvm {

/// Keeps LLVM's code generator (22) from knowing lanes of the masks of loads and stores that it splits: of a masked
/// access of two registers whose second half is known to be off by an `and` or a `select` it makes one of all lanes,
/// which reads and writes what lies behind. Such masks go through memory.
void HideKnownMasks(llvm::Function& function);

}  // namespace tenon::emit_llvm
