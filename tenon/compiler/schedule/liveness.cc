#include "tenon/compiler/schedule/liveness.h"

#include <algorithm>

#include "tenon/plan/touches.h"

namespace tenon::compiler {

std::span<const CopyAt> Timeline::CopiesAt(int32_t position) const {
  const auto by_position = [](const CopyAt& c) { return c.position; };
  const auto found = std::ranges::equal_range(copies, position, {}, by_position);
  return {found.begin(), found.end()};
}

int32_t Timeline::CaseBetween(int32_t a, int32_t b) const {
  // The outermost arms that differ tell; a later step is never around an earlier one.
  int32_t x = arm[static_cast<size_t>(a)], y = arm[static_cast<size_t>(b)];
  while (x >= 0 && y >= 0 && x != y) {
    const Arm &p = arms[static_cast<size_t>(x)], &q = arms[static_cast<size_t>(y)];
    if (p.step == q.step) return p.step;
    (p.step > q.step ? x : y) = (p.step > q.step ? p : q).parent;
  }
  return -1;
}

namespace {

class Walker {
 public:
  Walker(FusedProgram& program, Timeline& t) : p_(program), t_(t) {
    t_.events.resize(program.buffers.size());
    t_.innermost.push_back(-1);
    t_.arm.push_back(-1);
  }

  void Seq(plan::Seq& seq) {
    for (plan::Step& step : seq) {
      Advance();
      if (ForEachTouch(p_.kernels, step, [this](plan::SlotId slot, bool write) { Touch(slot, write); })) {
        if (auto* k = std::get_if<plan::KernelStep>(&step.is)) t_.kernels.push_back({t_.length, k});
        if (auto* c = std::get_if<plan::CopyStep>(&step.is)) t_.copies.push_back({t_.length, c->from, c->to});
      } else if (auto* w = std::get_if<plan::WhileStep>(&step.is)) {
        While(*w);
      } else {
        Case(std::get<plan::CaseStep>(step.is));
      }
    }
  }

 private:
  void Advance() {
    ++t_.length;
    t_.innermost.push_back(loop_);
    t_.arm.push_back(arm_);
  }
  void Touch(plan::SlotId slot, bool write) {
    Events& events = t_.events[p_.views[slot].buffer];
    events.insert(events.end(), {t_.length, order_++, write, slot});
  }
  void While(plan::WhileStep& s) {
    const size_t index = t_.loops.size();
    const int32_t outer = loop_;
    t_.loops.push_back({t_.length, 0, 0, outer});
    loop_ = static_cast<int32_t>(index);
    t_.innermost.back() = loop_;
    Seq(s.condition);
    Advance();
    if (s.trip_count < 0) Touch(s.predicate, false);
    t_.loops[index].body = t_.length + 1;
    Seq(s.body);
    Advance();
    for (const auto& [from, to] : s.carry) Touch(from, false);
    for (const auto& [from, to] : s.carry) {
      Touch(to, true);
      t_.copies.push_back({t_.length, from, to});
    }
    t_.loops[index].end = t_.length;
    loop_ = outer;
  }
  void Case(plan::CaseStep& s) {
    Touch(s.index, false);
    const int32_t step = t_.length, outer = arm_;
    std::vector<size_t> arms;
    for (plan::Seq& branch : s.branches) {
      arms.push_back(t_.arms.size());
      arm_ = static_cast<int32_t>(t_.arms.size());
      t_.arms.push_back({step, 0, outer});
      Seq(branch);
    }
    for (size_t a : arms) t_.arms[a].end = t_.length;
    arm_ = outer;
    Advance();
  }

  FusedProgram& p_;
  Timeline& t_;
  int32_t loop_ = -1;
  int32_t arm_ = -1;
  uint32_t order_ = 0;
};

}  // namespace

Timeline MakeTimeline(FusedProgram& program) {
  Timeline t;
  Walker(program, t).Seq(program.steps);
  return t;
}

}  // namespace tenon::compiler
