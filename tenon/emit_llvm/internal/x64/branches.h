#pragma once

namespace llvm {
class Function;
}

namespace tenon::emit_llvm::x64 {

/// Jumps where they take less time than computing: a jump that waits for two comparisons becomes one for each; a choice
/// in a loop between a number at hand and one that has to be looked up, whose place depends on what the loop chose
/// before, looks it up only when it is chosen. The function stays valid IR that gives the same bits.
void MakeBranches(llvm::Function& function);

}  // namespace tenon::emit_llvm::x64
