#include "tenon/emit_llvm/internal/x64/loops.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Function.h>

#include <algorithm>

namespace tenon::emit_llvm::x64 {

Loops::Loops(llvm::Function& fn) {
  std::vector<llvm::BasicBlock*> blocks;
  for (llvm::BasicBlock& block : fn) {
    number_[&block] = blocks.size();
    blocks.push_back(&block);
  }
  innermost_.assign(blocks.size(), -1);
  std::vector<llvm::SmallVector<size_t, 2>> previous(blocks.size());
  for (size_t b = 0; b < blocks.size(); ++b) {
    for (llvm::BasicBlock* next : llvm::successors(blocks[b])) previous[number_[next]].push_back(b);
  }
  dominator_.assign(blocks.size(), 0);
  for (size_t b = 1; b < blocks.size(); ++b) {
    size_t meet = b;
    for (size_t p : previous[b]) {
      if (p >= b) continue;
      if (meet == b) meet = p;
      size_t other = p;
      while (meet != other) (meet > other ? meet : other) = dominator_[meet > other ? meet : other];
    }
    dominator_[b] = meet == b ? 0 : meet;
  }
  for (size_t h = 0; h < blocks.size(); ++h) {
    Loop loop{.header = h, .last = h};
    bool found = false;
    llvm::SmallVector<size_t, 2> from;
    for (size_t p : previous[h]) {
      if (p < h) {
        from.push_back(p);
        continue;
      }
      found = true;
      loop.last = std::max(loop.last, p);
    }
    if (!found) continue;
    if (from.size() == 1 && blocks[from[0]]->getSingleSuccessor() != nullptr) loop.before = blocks[from[0]];
    loop.around = innermost_[h];
    for (size_t b = h; b <= loop.last; ++b) innermost_[b] = static_cast<int>(loops_.size());
    loops_.push_back(loop);
  }
}

bool Loops::RunsAlways(size_t block, const Loop& loop) const {
  size_t at = loop.last;
  while (at > block) at = dominator_[at];
  return at == block;
}

}  // namespace tenon::emit_llvm::x64
