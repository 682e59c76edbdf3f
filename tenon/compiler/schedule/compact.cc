#include "tenon/compiler/schedule/compact.h"

#include <utility>
#include <vector>

namespace tenon::compiler {
namespace {

using plan::SlotId;

class Compactor {
 public:
  explicit Compactor(plan::Plan& plan) : plan_(plan), number_(plan.slots.size(), plan::kNoSlot) {}

  void Run() {
    All(plan_.steps);
    plan_.slots = std::move(kept_);
  }

 private:
  void Use(SlotId& id) {
    if (id == plan::kNoSlot) return;
    if (number_[id] == plan::kNoSlot) {
      number_[id] = static_cast<SlotId>(kept_.size());
      kept_.push_back(std::move(plan_.slots[id]));
    }
    id = number_[id];
  }
  template <class List>
  void UseAll(List& ids) {
    for (SlotId& id : ids) Use(id);
  }
  void All(plan::Seq& seq) {
    for (plan::Step& step : seq) std::visit([this](auto& s) { One(s); }, step.is);
  }

  void One(plan::KernelStep& s) { UseAll(s.buffers); }
  void One(plan::DriverStep& s) {
    UseAll(s.inputs);
    UseAll(s.outputs);
    for (auto& [name, hook] : s.hooks) UseAll(hook.buffers);
  }
  void One(plan::CopyStep& s) {
    Use(s.from);
    Use(s.to);
  }
  void One(plan::WhileStep& s) {
    All(s.condition);
    if (s.trip_count < 0) Use(s.predicate);
    else s.predicate = 0;  // Not read.
    All(s.body);
    for (auto& [from, to] : s.carry) {
      Use(from);
      Use(to);
    }
  }
  void One(plan::CaseStep& s) {
    Use(s.index);
    for (plan::Seq& branch : s.branches) All(branch);
  }
  void One(plan::CustomCallStep& s) {
    UseAll(s.operands);
    UseAll(s.results);
  }
  void One(plan::EvaluateStep& s) {
    UseAll(s.operands);
    UseAll(s.results);
  }

  plan::Plan& plan_;
  std::vector<SlotId> number_;
  std::vector<plan::Slot> kept_;
};

}  // namespace

void CompactSlots(plan::Plan& plan) { Compactor(plan).Run(); }

}  // namespace tenon::compiler
