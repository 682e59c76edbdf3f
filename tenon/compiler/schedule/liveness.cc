#include "tenon/compiler/schedule/liveness.h"

namespace tenon::compiler {

const LoopRange* Timeline::LoopAround(int32_t position) const {
  const LoopRange* innermost = nullptr;
  for (const LoopRange& loop : loops) {
    if (loop.begin <= position && position <= loop.end) innermost = &loop;  // Outer ones come first.
  }
  return innermost;
}

namespace {

class Walker {
 public:
  Walker(FusedProgram& program, Timeline& t) : p_(program), t_(t) { t_.events.resize(program.buffers.size()); }

  void Seq(plan::Seq& seq) {
    for (plan::Step& step : seq) {
      ++t_.length;
      std::visit([this](auto& s) { One(s); }, step.is);
    }
  }

 private:
  void Touch(plan::SlotId slot, bool write) {
    if (slot == plan::kNoSlot) return;
    t_.events[p_.views[slot].buffer].push_back({t_.length, write, slot});
  }
  void One(plan::KernelStep& s) {
    const kir::Kernel& k = p_.kernels[s.kernel];
    for (size_t i = 0; i < s.buffers.size(); ++i) Touch(s.buffers[i], k.buffers[i].kind == kir::BufKind::kOut);
    t_.kernels.push_back({t_.length, &s});
  }
  void One(plan::DriverStep& s) {
    for (plan::SlotId slot : s.inputs) Touch(slot, false);
    for (plan::SlotId slot : s.outputs) Touch(slot, true);
    for (auto& [name, hook] : s.hooks) {
      for (plan::SlotId slot : hook.buffers) Touch(slot, false);
    }
  }
  void One(plan::CopyStep& s) {
    Touch(s.from, false);
    Touch(s.to, true);
    t_.copies.push_back({t_.length, s.from, s.to});
  }
  void One(plan::WhileStep& s) {
    const size_t index = t_.loops.size();
    t_.loops.push_back({t_.length, 0, 0});
    Seq(s.condition);
    ++t_.length;
    if (s.trip_count < 0) Touch(s.predicate, false);
    t_.loops[index].body = t_.length + 1;
    Seq(s.body);
    ++t_.length;
    for (const auto& [from, to] : s.carry) Touch(from, false);
    for (const auto& [from, to] : s.carry) {
      Touch(to, true);
      t_.copies.push_back({t_.length, from, to});
    }
    t_.loops[index].end = t_.length;
  }
  void One(plan::CaseStep& s) {
    Touch(s.index, false);
    for (plan::Seq& branch : s.branches) Seq(branch);
    ++t_.length;
  }
  template <class S>
  void One(S& s) {
    for (plan::SlotId slot : s.operands) Touch(slot, false);
    for (plan::SlotId slot : s.results) Touch(slot, true);
  }

  FusedProgram& p_;
  Timeline& t_;
};

}  // namespace

Timeline MakeTimeline(FusedProgram& program) {
  Timeline t;
  Walker(program, t).Seq(program.steps);
  return t;
}

}  // namespace tenon::compiler
