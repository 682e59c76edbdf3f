#pragma once

// Which slots one step reads and writes.

#include <variant>
#include <vector>

#include "tenon/kir/kir.h"
#include "tenon/plan/plan.h"

namespace tenon::plan {

/// f(slot, written) for every slot that the step touches, reads of copies, drivers and calls before writes; kernels'
/// buffers in their order. Steps that hold steps (loops, branches) touch nothing themselves: false. Slots of steps that
/// may be written to may be, too.
template <class Step, class F>
bool ForEachTouch(const std::vector<kir::Kernel>& kernels, Step& step, const F& f) {
  const auto touch = [&](auto& slot, bool written) {
    if (slot != kNoSlot) f(slot, written);
  };
  const auto all = [&](auto& slots, bool written) {
    for (auto& slot : slots) touch(slot, written);
  };
  const auto kernel = [&](auto& run) {
    const kir::Kernel& k = kernels[run.kernel];
    for (size_t i = 0; i < run.buffers.size(); ++i) touch(run.buffers[i], k.buffers[i].kind == kir::BufKind::kOut);
  };
  const auto call = [&](auto& s) {
    all(s.operands, false);
    all(s.results, true);
  };
  if (auto* k = std::get_if<KernelStep>(&step.is)) {
    kernel(*k);
  } else if (auto* d = std::get_if<DriverStep>(&step.is)) {
    all(d->inputs, false);
    all(d->outputs, true);
    touch(d->scratch, true);
    for (auto& [name, hook] : d->hooks) kernel(hook);
  } else if (auto* c = std::get_if<CopyStep>(&step.is)) {
    touch(c->from, false);
    touch(c->to, true);
  } else if (auto* custom = std::get_if<CustomCallStep>(&step.is)) {
    call(*custom);
  } else if (auto* e = std::get_if<EvaluateStep>(&step.is)) {
    call(*e);
  } else {
    return false;
  }
  return true;
}

}  // namespace tenon::plan
