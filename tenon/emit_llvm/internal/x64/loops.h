#pragma once

#include <llvm/ADT/DenseMap.h>

#include <cstddef>
#include <vector>

namespace llvm {
class BasicBlock;
class Function;
}  // namespace llvm

namespace tenon::emit_llvm::x64 {

/// Blocks by their numbers: those of a loop follow each other.
struct Loop {
  size_t header;
  size_t last;
  llvm::BasicBlock* before = nullptr;  ///< From which alone the loop is entered; null: there is none.
  int around = -1;                     ///< The loop around it, by its number in Loops.
  bool Holds(size_t block) const { return block >= header && block <= last; }
};

/// The loops of a function whose blocks stand in the emitter's order. Blocks that are made later have no numbers.
class Loops {
 public:
  explicit Loops(llvm::Function& fn);

  size_t NumberOf(const llvm::BasicBlock* block) const { return number_.lookup(block); }
  /// The innermost loop around a block or a loop; null for none.
  const Loop* Around(const llvm::BasicBlock* block) const { return At(innermost_[NumberOf(block)]); }
  const Loop* Around(const Loop& loop) const { return At(loop.around); }
  /// Whether every trip of the loop comes to the block.
  bool RunsAlways(size_t block, const Loop& loop) const;

 private:
  const Loop* At(int loop) const { return loop < 0 ? nullptr : &loops_[static_cast<size_t>(loop)]; }

  llvm::DenseMap<const llvm::BasicBlock*, size_t> number_;
  std::vector<size_t> dominator_;
  std::vector<int> innermost_;  ///< By block.
  std::vector<Loop> loops_;
};

}  // namespace tenon::emit_llvm::x64
