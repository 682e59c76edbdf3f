#include "tenon/plan/plan.h"

#include <algorithm>

namespace tenon::plan {

bool operator==(const WhileStep& a, const WhileStep& b) {
  return a.condition == b.condition && a.predicate == b.predicate && a.trip_count == b.trip_count && a.body == b.body &&
         a.carry == b.carry;
}

bool operator==(const CaseStep& a, const CaseStep& b) { return a.index == b.index && a.branches == b.branches; }

bool operator==(const EvaluateStep& a, const EvaluateStep& b) {
  const bool same_program = a.program == b.program || (a.program && b.program && *a.program == *b.program);
  return a.op == b.op && same_program && a.operands == b.operands && a.results == b.results;
}

bool operator==(const Plan& a, const Plan& b) {
  const bool same_constants = std::equal(a.constants.begin(), a.constants.end(), b.constants.begin(), b.constants.end(),
                                         [](const Constant& x, const Constant& y) { return x.hash == y.hash; });
  return same_constants && a.name == b.name && a.inputs == b.inputs && a.outputs == b.outputs && a.slots == b.slots &&
         a.kernels == b.kernels && a.steps == b.steps && a.arena_bytes == b.arena_bytes;
}

DriverArrays ArraysOf(const Plan& plan, const DriverStep& step) {
  const auto array = [&](SlotId id) {
    if (id == kNoSlot) return StridedArray{};
    const Slot& slot = plan.slots[id];
    return StridedArray{slot.dtype, slot.dims, slot.stride_elems};
  };
  DriverArrays arrays;
  for (SlotId id : step.inputs) arrays.inputs.push_back(array(id));
  for (SlotId id : step.outputs) arrays.outputs.push_back(array(id));
  return arrays;
}

bool SamePlace(const Plan& plan, SlotId a, SlotId b) {
  if (a >= plan.slots.size() || b >= plan.slots.size()) return false;
  const Slot& x = plan.slots[a];
  const Slot& y = plan.slots[b];
  if (x.offset_bytes != y.offset_bytes || x.dtype != y.dtype || x.dims != y.dims) return false;
  for (size_t i = 0; i < x.dims.size(); ++i) {
    if (x.dims[i] != 1 && x.stride_elems[i] != y.stride_elems[i]) return false;
  }
  if (x.kind == y.kind) return x.kind == SlotKind::kTemp || x.index == y.index;
  const auto starts_as = [&](const Slot& out, const Slot& arg) {
    return out.kind == SlotKind::kOut && arg.kind == SlotKind::kArg && plan.outputs[out.index].alias_contents &&
           plan.outputs[out.index].alias_input == static_cast<int32_t>(arg.index);
  };
  return starts_as(x, y) || starts_as(y, x);
}

namespace {

struct Counter {
  const Plan& plan;
  Statistics& n;
  void operator()(const KernelStep&) { ++n.kernel_steps; }
  void operator()(const DriverStep&) { ++n.driver_steps; }
  void operator()(const CopyStep& s) { n.copy_steps += SamePlace(plan, s.from, s.to) ? 0 : 1; }
  void operator()(const CustomCallStep&) { ++n.custom_calls; }
  void operator()(const EvaluateStep&) { ++n.evaluate_steps; }
  void operator()(const WhileStep& s) {
    ++n.loops;
    All(s.condition);
    All(s.body);
  }
  void operator()(const CaseStep& s) {
    ++n.cases;
    for (const Seq& branch : s.branches) All(branch);
  }
  void All(const Seq& seq) {
    for (const Step& step : seq) std::visit(*this, step.is);
  }
};

}  // namespace

Statistics Count(const Plan& plan) {
  Statistics n;
  Counter{plan, n}.All(plan.steps);
  return n;
}

Dims StridesOfLayout(const Dims& dims, const Dims& minor_to_major) {
  Dims strides(dims.size(), 1);
  int64_t stride = 1;
  for (int64_t d : minor_to_major) {
    strides[static_cast<size_t>(d)] = stride;
    // Unsigned, since those of an empty array, which nobody uses, may leave int64.
    stride = static_cast<int64_t>(static_cast<uint64_t>(stride) *
                                  static_cast<uint64_t>(std::max<int64_t>(dims[static_cast<size_t>(d)], 1)));
  }
  return strides;
}

bool IsOrderOf(const Dims& minor_to_major, size_t rank) {
  if (minor_to_major.size() != rank) return false;
  SmallVector<bool, 8> seen(rank, false);
  for (const int64_t d : minor_to_major) {
    if (d < 0 || static_cast<size_t>(d) >= rank || seen[static_cast<size_t>(d)]) return false;
    seen[static_cast<size_t>(d)] = true;
  }
  return true;
}

}  // namespace tenon::plan
