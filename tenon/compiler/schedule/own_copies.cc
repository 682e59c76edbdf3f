#include "tenon/compiler/schedule/own_copies.h"

#include <algorithm>
#include <variant>

namespace tenon::compiler {
namespace {

using plan::SlotId;
using Pairs = std::vector<std::pair<SlotId, SlotId>>;

/// The slot of the kernel that reads `original` where `write` is written, and may have its memory.
SlotId ReadOf(const FusedProgram& p, const plan::KernelStep& kernel, SlotId write, const View& original) {
  const auto may = p.in_place.find(write);
  if (may == p.in_place.end()) return plan::kNoSlot;
  for (const SlotId read : may->second) {
    if (std::ranges::find(kernel.buffers, read) != kernel.buffers.end() && p.views[read] == original) return read;
  }
  return plan::kNoSlot;
}

void Visit(FusedProgram& p, plan::Seq& seq, Pairs& pairs) {
  for (size_t i = 0; i < seq.size(); ++i) {
    if (auto* loop = std::get_if<plan::WhileStep>(&seq[i].is)) {
      Visit(p, loop->condition, pairs);
      Visit(p, loop->body, pairs);
    } else if (auto* choice = std::get_if<plan::CaseStep>(&seq[i].is)) {
      for (plan::Seq& branch : choice->branches) Visit(p, branch, pairs);
    }
    const auto* kernel = std::get_if<plan::KernelStep>(&seq[i].is);
    const auto* copy = i > 0 ? std::get_if<plan::CopyStep>(&seq[i - 1].is) : nullptr;
    if (kernel == nullptr || copy == nullptr) continue;
    for (const SlotId write : kernel->buffers) {
      if (write == plan::kNoSlot || p.views[write].buffer != p.views[copy->to].buffer) continue;
      const SlotId read = ReadOf(p, *kernel, write, p.views[copy->from]);
      if (read == plan::kNoSlot || !(p.views[write] == p.views[copy->to])) continue;
      p.views[read] = p.views[write];  // The copy may begin elsewhere in its memory than what it is of.
      pairs.emplace_back(write, read);
      break;
    }
  }
}

}  // namespace

Pairs ReadOwnCopies(FusedProgram& program) {
  Pairs pairs;
  Visit(program, program.steps, pairs);
  return pairs;
}

}  // namespace tenon::compiler
