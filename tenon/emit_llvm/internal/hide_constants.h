#pragma once

#include <llvm/IR/Function.h>

namespace tenon::emit_llvm {

/// Keeps LLVM's code generator from leaving out operations with a constant that changes no number, as x * 1, x + -0 and
/// the lesser one of x and infinity: they make zeros of subnormal numbers where these are flushed.
void HideNeutralConstants(llvm::Function& function);

}  // namespace tenon::emit_llvm
