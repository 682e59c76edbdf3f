#include "tenon/compiler/schedule/invariants.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "tenon/plan/touches.h"

namespace tenon::compiler {
namespace {

/// Whether a loop inside ends by a condition: perhaps never, where the loop around it would not have asked for it.
bool MayNotEnd(const kir::Seq& seq) {
  return std::ranges::any_of(seq, [](const kir::Step& step) {
    const auto* loop = std::get_if<kir::Loop>(&step.is);
    return loop != nullptr && (loop->condition != kir::kNone || MayNotEnd(loop->body));
  });
}

class Hoister {
 public:
  explicit Hoister(FusedProgram& program) : p_(program), writers_(program.buffers.size()) {}

  void Run() {
    Note(p_.steps);
    for (std::vector<uint32_t>& list : writers_) {
      std::ranges::sort(list);
      list.erase(std::ranges::unique(list).begin(), list.end());
    }
    next_ = 0;
    Leave(p_.steps);
  }

 private:
  uint32_t BufferOf(plan::SlotId slot) const { return p_.views[slot].buffer; }

  /// Numbers the sequence and those inside it, and notes which of them write each buffer. A loop's carries count as its
  /// condition's, which nothing leaves.
  void Note(const plan::Seq& seq) {
    const uint32_t number = next_++;
    for (const plan::Step& step : seq) {
      if (const auto* loop = std::get_if<plan::WhileStep>(&step.is)) {
        for (const auto& [from, to] : loop->carry) writers_[BufferOf(to)].push_back(next_);
        Note(loop->condition);
        Note(loop->body);
      } else if (const auto* branch = std::get_if<plan::CaseStep>(&step.is)) {
        for (const plan::Seq& s : branch->branches) Note(s);
      } else {
        ForEachTouch(p_.kernels, step, [&](plan::SlotId slot, bool written) {
          if (written) writers_[BufferOf(slot)].push_back(number);
        });
      }
    }
  }

  /// Moves what can leave the loops in the sequence to it, innermost loops first. Counts sequences as Note does.
  void Leave(plan::Seq& seq) {
    const uint32_t number = next_++;
    std::vector<std::pair<size_t, plan::Seq>> leaving;  // Before which step.
    for (size_t i = 0; i < seq.size(); ++i) {
      if (auto* loop = std::get_if<plan::WhileStep>(&seq[i].is)) {
        const uint32_t first = next_;
        Leave(loop->condition);
        const uint32_t body = next_;
        Leave(loop->body);
        plan::Seq steps = Take(*loop, first, body, next_, number);
        if (!steps.empty()) leaving.emplace_back(i, std::move(steps));
      } else if (auto* branch = std::get_if<plan::CaseStep>(&seq[i].is)) {
        for (plan::Seq& s : branch->branches) Leave(s);
      }
    }
    if (leaving.empty()) return;
    plan::Seq all;
    size_t at = 0;
    const auto move_up_to = [&](size_t end) {
      std::move(seq.begin() + static_cast<ptrdiff_t>(at), seq.begin() + static_cast<ptrdiff_t>(end),
                std::back_inserter(all));
      at = end;
    };
    for (auto& [before, steps] : leaving) {
      move_up_to(before);
      std::move(steps.begin(), steps.end(), std::back_inserter(all));
    }
    move_up_to(seq.size());
    seq = std::move(all);
  }

  /// Takes the steps that can leave out of the loop's body, sequence `body` of the loop's [first, end), for the
  /// sequence `to`.
  plan::Seq Take(plan::WhileStep& loop, uint32_t first, uint32_t body, uint32_t end, uint32_t to) {
    plan::Seq& steps = loop.body;
    std::vector<bool> stays(steps.size(), false);
    std::unordered_map<uint32_t, std::vector<size_t>> touching;  // Steps by buffers that only this sequence writes.
    std::vector<size_t> open;                                    // That stay, and whose buffers were not looked at.
    const auto stay = [&](size_t i) {
      if (!stays[i]) open.push_back(i);
      stays[i] = true;
    };
    for (size_t i = 0; i < steps.size(); ++i) {
      const bool leaf = ForEachTouch(p_.kernels, steps[i], [&](plan::SlotId slot, bool written) {
        const uint32_t buffer = BufferOf(slot);
        const std::vector<uint32_t>& writers = writers_[buffer];
        const auto inside = std::ranges::lower_bound(writers, first);
        const bool varies = inside != writers.end() && *inside < end;
        const bool own = !writers.empty() && writers.front() == body && writers.back() == body;
        if (written ? !own || p_.buffers[buffer].kind != plan::SlotKind::kTemp : varies && !own) stay(i);
        if (own) touching[buffer].push_back(i);
      });
      // Calls may do more than they return.
      const auto* kernel = std::get_if<plan::KernelStep>(&steps[i].is);
      const bool pure = kernel != nullptr ? loop.trip_count > 0 || !MayNotEnd(p_.kernels[kernel->kernel].seq)
                                          : std::holds_alternative<plan::DriverStep>(steps[i].is) ||
                                                std::holds_alternative<plan::CopyStep>(steps[i].is);
      if (!leaf || !pure) stay(i);
    }
    while (!open.empty()) {
      const size_t i = open.back();
      open.pop_back();
      ForEachTouch(p_.kernels, steps[i], [&](plan::SlotId slot, bool written) {
        if (!written) return;
        for (size_t other : std::exchange(touching[BufferOf(slot)], {})) stay(other);
      });
    }
    plan::Seq taken, left;
    for (size_t i = 0; i < steps.size(); ++i) {
      if (!stays[i]) {
        ForEachTouch(p_.kernels, steps[i], [&](plan::SlotId slot, bool written) {
          if (written) writers_[BufferOf(slot)] = {to};
        });
      }
      (stays[i] ? left : taken).push_back(std::move(steps[i]));
    }
    steps = std::move(left);
    return taken;
  }

  FusedProgram& p_;
  std::vector<std::vector<uint32_t>> writers_;  ///< By buffer: the sequences with steps that write it, rising.
  uint32_t next_ = 0;
};

}  // namespace

void HoistInvariantSteps(FusedProgram& program) { Hoister(program).Run(); }

}  // namespace tenon::compiler
