#pragma once

namespace llvm {
class Function;
}

namespace tenon::emit_llvm::x64 {

/// What selection expects to have been done: operations on constants done, equal values and reads of a block shared,
/// arrays on the stack kept in registers where all places are known, lane offsets of gathers in 32 bits where they fit,
/// and what a loop computes again and again computed once before it. The function stays valid IR that gives the same
/// bits. Linear in its instructions.
void Prepare(llvm::Function& function);

}  // namespace tenon::emit_llvm::x64
