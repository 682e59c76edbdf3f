#pragma once

// Which slots one step reads and writes.

#include "tenon/compiler/fuse/fuse.h"

namespace tenon::compiler {

/// f(slot, written) for every slot that the step touches, reads of copies, drivers and calls before writes; kernels'
/// buffers in their order. Steps that hold steps (loops, branches) touch nothing themselves: false.
template <class F>
bool ForEachTouch(const FusedProgram& program, const plan::Step& step, const F& f) {
  const auto touch = [&](plan::SlotId slot, bool written) {
    if (slot != plan::kNoSlot) f(slot, written);
  };
  const auto kernel = [&](uint32_t number, const auto& buffers) {
    const kir::Kernel& k = program.kernels[number];
    for (size_t i = 0; i < buffers.size(); ++i) touch(buffers[i], k.buffers[i].kind == kir::BufKind::kOut);
  };
  const auto call = [&](const auto& s) {
    for (plan::SlotId slot : s.operands) touch(slot, false);
    for (plan::SlotId slot : s.results) touch(slot, true);
  };
  if (const auto* k = std::get_if<plan::KernelStep>(&step.is)) {
    kernel(k->kernel, k->buffers);
  } else if (const auto* d = std::get_if<plan::DriverStep>(&step.is)) {
    for (plan::SlotId slot : d->inputs) touch(slot, false);
    for (plan::SlotId slot : d->outputs) touch(slot, true);
    touch(d->scratch, true);
    for (const auto& [name, hook] : d->hooks) kernel(hook.kernel, hook.buffers);
  } else if (const auto* c = std::get_if<plan::CopyStep>(&step.is)) {
    touch(c->from, false);
    touch(c->to, true);
  } else if (const auto* custom = std::get_if<plan::CustomCallStep>(&step.is)) {
    call(*custom);
  } else if (const auto* e = std::get_if<plan::EvaluateStep>(&step.is)) {
    call(*e);
  } else {
    return false;
  }
  return true;
}

}  // namespace tenon::compiler
