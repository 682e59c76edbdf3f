#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "tenon/plan/internal/verify_flow.h"
#include "tenon/plan/plan.h"

namespace tenon::plan {
namespace {

constexpr int kMaxDepth = 200;  // structural: the recursion must fit a stack

/// The bytes [begin, end) that a slot can touch, relative to its base; nothing for an empty view.
struct Extent {
  int64_t begin = 0;
  int64_t end = 0;
  bool empty() const { return begin == end; }
};

Result<Extent> TouchedBytes(const Slot& slot) {
  if (slot.dims.size() != slot.stride_elems.size()) {
    return InvalidArgument(fmt::format("{} extents but {} strides", slot.dims.size(), slot.stride_elems.size()));
  }
  int64_t low = 0;
  int64_t high = 0;
  for (size_t i = 0; i < slot.dims.size(); ++i) {
    if (slot.dims[i] < 0) return InvalidArgument(fmt::format("negative extent {}", slot.dims[i]));
    if (slot.dims[i] == 0) return Extent{};
    int64_t reach;
    if (__builtin_mul_overflow(slot.dims[i] - 1, slot.stride_elems[i], &reach) ||
        __builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high)) {
      return InvalidArgument("its size exceeds 2^63 - 1");
    }
  }
  const int64_t width = ByteWidth(slot.dtype);
  Extent e;
  int64_t last;
  if (__builtin_mul_overflow(low, width, &e.begin) || __builtin_add_overflow(e.begin, slot.offset_bytes, &e.begin) ||
      __builtin_add_overflow(high, int64_t{1}, &last) || __builtin_mul_overflow(last, width, &last) ||
      __builtin_add_overflow(last, slot.offset_bytes, &e.end)) {
    return InvalidArgument("its size exceeds 2^63 - 1");
  }
  return e;
}

class Verifier {
 public:
  Verifier(const Plan& plan, const drivers::Registry* families) : plan_(plan), families_(families) {}

  Status All() {
    for (size_t i = 0; i < plan_.outputs.size(); ++i) TENON_RETURN_IF_ERROR(CheckOutput(i));
    for (size_t i = 0; i < plan_.slots.size(); ++i) {
      if (Status s = CheckSlot(plan_.slots[i]); !s.ok()) return s.WithContext(fmt::format("slot %{}", i));
    }
    for (size_t i = 0; i < plan_.kernels.size(); ++i) {
      if (Status s = kir::Verify(plan_.kernels[i]); !s.ok()) return s.WithContext(fmt::format("kernel {}", i));
    }
    return Check(plan_.steps, 0);
  }

 private:
  Status CheckOutput(size_t i) const {
    const Output& out = plan_.outputs[i];
    if (out.alias_input < 0) {
      return out.alias_contents ? InvalidArgument(fmt::format("output {} takes contents over from no argument", i))
                                : OkStatus();
    }
    if (static_cast<size_t>(out.alias_input) >= plan_.inputs.size()) {
      return InvalidArgument(
          fmt::format("output {} aliases argument {} of {}", i, out.alias_input, plan_.inputs.size()));
    }
    const Shape& in = plan_.inputs[static_cast<size_t>(out.alias_input)].shape;
    TENON_ASSIGN_OR_RETURN(int64_t in_bytes, CheckedSizeBytes(in));
    TENON_ASSIGN_OR_RETURN(int64_t out_bytes, CheckedSizeBytes(out.shape));
    if (in_bytes != out_bytes) {
      return InvalidArgument(fmt::format("output {} ({}) aliases argument {} ({}) of another size", i,
                                         ToString(out.shape), out.alias_input, ToString(in)));
    }
    return OkStatus();
  }

  Status CheckSlot(const Slot& slot) const {
    int64_t size = 0;
    switch (slot.kind) {
      case SlotKind::kArg:
        if (slot.index >= plan_.inputs.size()) return InvalidArgument(fmt::format("no argument {}", slot.index));
        size = SizeBytes(plan_.inputs[slot.index].shape);
        break;
      case SlotKind::kOut:
        if (slot.index >= plan_.outputs.size()) return InvalidArgument(fmt::format("no output {}", slot.index));
        size = SizeBytes(plan_.outputs[slot.index].shape);
        break;
      case SlotKind::kConst:
        if (slot.index >= plan_.constants.size()) return InvalidArgument(fmt::format("no constant {}", slot.index));
        size = static_cast<int64_t>(plan_.constants[slot.index].bytes->size());
        break;
      case SlotKind::kTemp:
        size = plan_.arena_bytes;
        break;
    }
    TENON_ASSIGN_OR_RETURN(Extent e, TouchedBytes(slot));
    if (!e.empty() && (e.begin < 0 || e.end > size)) {
      return InvalidArgument(fmt::format("touches bytes [{}, {}) of {}", e.begin, e.end, size));
    }
    const int64_t part = ByteWidth(IsComplex(slot.dtype) ? RealPartOf(slot.dtype) : slot.dtype);
    if (part > 1 && slot.offset_bytes % part != 0) {
      return InvalidArgument(
          fmt::format("{} at byte {}, which is not aligned", DTypeName(slot.dtype), slot.offset_bytes));
    }
    return OkStatus();
  }

  Status CheckId(SlotId id) const {
    if (id < plan_.slots.size()) return OkStatus();
    return InvalidArgument(fmt::format("no slot %{} among {}", id, plan_.slots.size()));
  }

  Status CheckWritable(SlotId id) const {
    TENON_RETURN_IF_ERROR(CheckId(id));
    const SlotKind kind = plan_.slots[id].kind;
    if (kind == SlotKind::kArg || kind == SlotKind::kConst) {
      return InvalidArgument(
          fmt::format("slot %{} is written but views {}", id, kind == SlotKind::kArg ? "an argument" : "a constant"));
    }
    return OkStatus();
  }

  template <class List>
  Status CheckOperands(const List& reads, const List& writes) const {
    for (SlotId id : reads) {
      if (id != kNoSlot) TENON_RETURN_IF_ERROR(CheckId(id));
    }
    for (SlotId id : writes) {
      if (id != kNoSlot) TENON_RETURN_IF_ERROR(CheckWritable(id));
    }
    return OkStatus();
  }

  bool Overlap(SlotId a, SlotId b) const {
    const Slot& x = plan_.slots[a];
    const Slot& y = plan_.slots[b];
    const bool same_base = x.kind == y.kind && (x.kind == SlotKind::kTemp || x.index == y.index);
    if (!same_base) return false;
    const Extent ex = *TouchedBytes(x);
    const Extent ey = *TouchedBytes(y);
    return !ex.empty() && !ey.empty() && ex.begin < ey.end && ey.begin < ex.end;
  }

  Status CheckScalar(SlotId id, std::initializer_list<DType> types, std::string_view what) const {
    TENON_RETURN_IF_ERROR(CheckId(id));
    const Slot& slot = plan_.slots[id];
    for (DType t : types) {
      if (slot.dtype == t && slot.dims.empty()) return OkStatus();
    }
    return InvalidArgument(fmt::format("{} is {}", what, ToString(Shape{slot.dtype, slot.dims})));
  }

  Status Check(const Seq& seq, int depth) const {
    if (depth > kMaxDepth) return InvalidArgument("steps are nested too deeply");
    for (size_t i = 0; i < seq.size(); ++i) {
      Status s = std::visit([&](const auto& step) { return One(step, depth); }, seq[i].is);
      for (const uint32_t origin : seq[i].origins) {
        if (s.ok() && origin >= plan_.origins.size())
          s = InvalidArgument(fmt::format("no origin {} among {}", origin, plan_.origins.size()));
      }
      if (!s.ok()) return s.WithContext(fmt::format("step {}", i));
    }
    return OkStatus();
  }

  // Binds slots to a kernel's buffers. `hook`: unbound tile buffers are legal.
  Status CheckBinding(uint32_t index, const SmallVector<SlotId, 4>& slots, size_t params, size_t appended_params,
                      bool hook) const {
    if (index >= plan_.kernels.size())
      return InvalidArgument(fmt::format("no kernel {} among {}", index, plan_.kernels.size()));
    const kir::Kernel& k = plan_.kernels[index];
    if (slots.size() != k.buffers.size()) {
      return InvalidArgument(fmt::format("kernel {} has {} buffers, got {}", index, k.buffers.size(), slots.size()));
    }
    if (params + appended_params < k.num_params) {
      return InvalidArgument(fmt::format("kernel {} has {} params, got {}", index, k.num_params, params));
    }
    for (size_t i = 0; i < slots.size(); ++i) {
      const kir::Buffer& buffer = k.buffers[i];
      const bool unbound =
          buffer.kind == kir::BufKind::kLocal || buffer.kind == (hook ? kir::BufKind::kTile : kir::BufKind::kSignal);
      if (unbound) {
        if (slots[i] != kNoSlot) return InvalidArgument(fmt::format("buffer {} of kernel {} takes no slot", i, index));
        continue;
      }
      const bool written = buffer.kind == kir::BufKind::kOut || buffer.kind == kir::BufKind::kTile;
      TENON_RETURN_IF_ERROR(written ? CheckWritable(slots[i]) : CheckId(slots[i]));
      if (plan_.slots[slots[i]].dtype != buffer.type) {
        return InvalidArgument(fmt::format("buffer {} of kernel {} is {}, slot %{} is {}", i, index,
                                           DTypeName(buffer.type), slots[i], DTypeName(plan_.slots[slots[i]].dtype)));
      }
    }
    return OkStatus();
  }

  Status One(const KernelStep& s, int) const {
    TENON_RETURN_IF_ERROR(CheckBinding(s.kernel, s.buffers, s.params.size(), 0, false));
    const kir::Kernel& k = plan_.kernels[s.kernel];
    for (size_t i = 0; i < s.buffers.size(); ++i) {
      if (k.buffers[i].kind != kir::BufKind::kOut) continue;
      for (size_t j = 0; j < s.buffers.size(); ++j) {
        const bool allowed = i == j || s.buffers[j] == kNoSlot || k.buffers[i].in_place_of == j ||
                             k.buffers[j].in_place_of == i ||
                             // Outputs may be parts of one array (concatenate): the kernel's stores are disjoint.
                             k.buffers[j].kind == kir::BufKind::kOut;
        if (!allowed && Overlap(s.buffers[i], s.buffers[j])) {
          return InvalidArgument(
              fmt::format("kernel {}: output %{} overlaps %{}", s.kernel, s.buffers[i], s.buffers[j]));
        }
      }
    }
    return OkStatus();
  }

  Status One(const DriverStep& s, int) const {
    TENON_RETURN_IF_ERROR(CheckOperands(SmallVector<SlotId, 4>(s.inputs.begin(), s.inputs.end()),
                                        SmallVector<SlotId, 4>(s.outputs.begin(), s.outputs.end())));
    if (s.scratch != kNoSlot) TENON_RETURN_IF_ERROR(CheckWritable(s.scratch));
    SmallVector<SlotId, 4> written(s.outputs.begin(), s.outputs.end());
    for (SlotId out : s.outputs) {
      if (out == kNoSlot) return InvalidArgument(fmt::format("driver {} lacks an output", s.driver));
    }
    if (s.scratch != kNoSlot) written.push_back(s.scratch);
    for (size_t i = 0; i < written.size(); ++i) {
      for (SlotId in : s.inputs) {
        if (in != kNoSlot && Overlap(written[i], in))
          return InvalidArgument(fmt::format("driver {}: output %{} overlaps %{}", s.driver, written[i], in));
      }
      for (size_t j = 0; j < i; ++j) {
        if (Overlap(written[i], written[j]))
          return InvalidArgument(fmt::format("driver {}: output %{} overlaps %{}", s.driver, written[i], written[j]));
      }
    }
    for (const auto& [name, hook] : s.hooks) {
      TENON_RETURN_IF_ERROR(
          CheckBinding(hook.kernel, hook.buffers, hook.params.size(), kTileParams, true).WithContext("hook " + name));
    }
    return families_ == nullptr ? OkStatus() : CheckDriver(s).WithContext("driver " + s.driver);
  }

  // What the family says of the step: its operands and config belong together, its scratch suffices, its hooks exist.
  Status CheckDriver(const DriverStep& s) const {
    const DriverArrays arrays = ArraysOf(plan_, s);
    TENON_ASSIGN_OR_RETURN(const drivers::Facts facts, families_->Describe(s.driver, s.config, arrays.operands()));
    for (SlotId id : s.outputs) TENON_RETURN_IF_ERROR(CheckApart(plan_.slots[id]).WithContext(fmt::format("%{}", id)));
    if (facts.scratch_bytes > 0) {
      const Slot* scratch = s.scratch == kNoSlot ? nullptr : &plan_.slots[s.scratch];
      if (scratch == nullptr || scratch->dtype != DType::kU8 || scratch->dims.size() != 1 ||
          scratch->dims[0] < facts.scratch_bytes || scratch->stride_elems[0] != 1 || scratch->offset_bytes % 64 != 0 ||
          scratch->kind != SlotKind::kTemp) {
        return InvalidArgument(
            fmt::format("wants {} dense bytes of scratch in the arena, 64-byte aligned", facts.scratch_bytes));
      }
    }
    std::vector<bool> made(s.inputs.size(), false);
    for (size_t i = 0; i < s.hooks.size(); ++i) {
      const auto& [name, hook] = s.hooks[i];
      for (size_t j = 0; j < i; ++j) {
        if (s.hooks[j].first == name) return InvalidArgument(fmt::format("two hooks '{}'", name));
      }
      const auto point = std::find_if(facts.hooks.begin(), facts.hooks.end(),
                                      [&](const drivers::HookPoint& p) { return p.name == name; });
      if (point == facts.hooks.end()) return InvalidArgument(fmt::format("there is no hook '{}'", name));
      TENON_RETURN_IF_ERROR(CheckHook(s, hook, *point).WithContext("hook " + name));
      if (point->role == drivers::HookPoint::Role::kMakesInput) made[point->index] = true;
    }
    for (size_t i = 0; i < s.inputs.size(); ++i) {
      if (s.inputs[i] == kNoSlot && !made[i])
        return InvalidArgument(fmt::format("input {} has no slot and no hook", i));
    }
    return OkStatus();
  }

  // A hook's kernel sees tiles of the point's type, runs as one piece, and writes nothing but its tile: other tiles'
  // hooks run at the same time.
  Status CheckHook(const DriverStep& s, const Hook& hook, const drivers::HookPoint& point) const {
    const kir::Kernel& k = plan_.kernels[hook.kernel];
    if (k.split.dims != 0) return InvalidArgument(fmt::format("kernel {} runs in pieces", hook.kernel));
    for (size_t i = 0; i < k.buffers.size(); ++i) {
      const kir::Buffer& buffer = k.buffers[i];
      if (buffer.kind == kir::BufKind::kTile && buffer.type != point.type) {
        return InvalidArgument(fmt::format("kernel {} works on tiles of {}, got {}", hook.kernel,
                                           DTypeName(buffer.type), DTypeName(point.type)));
      }
      if (buffer.kind == kir::BufKind::kOut) {
        return InvalidArgument(fmt::format("kernel {} writes %{} beside its tile", hook.kernel, hook.buffers[i]));
      }
      if (hook.buffers[i] == kNoSlot) continue;
      for (SlotId out : s.outputs) {
        if (Overlap(hook.buffers[i], out)) {
          return InvalidArgument(
              fmt::format("kernel {} reads %{}, which overlaps output %{}", hook.kernel, hook.buffers[i], out));
        }
      }
      if (s.scratch != kNoSlot && Overlap(hook.buffers[i], s.scratch))
        return InvalidArgument(fmt::format("kernel {} reads the scratch", hook.kernel));
    }
    return OkStatus();
  }

  // No two elements at one place: they are written side by side.
  static Status CheckApart(const Slot& slot) {
    std::vector<std::pair<int64_t, int64_t>> by_stride;
    for (size_t i = 0; i < slot.dims.size(); ++i) {
      if (slot.dims[i] == 0) return OkStatus();
      if (slot.dims[i] > 1) by_stride.push_back({std::abs(slot.stride_elems[i]), slot.dims[i]});
    }
    std::sort(by_stride.begin(), by_stride.end());
    int64_t reach = 0;
    for (const auto& [stride, extent] : by_stride) {
      if (stride <= reach) return InvalidArgument("elements of an output overlap");
      reach += (extent - 1) * stride;
    }
    return OkStatus();
  }

  Status One(const CopyStep& s, int) const {
    TENON_RETURN_IF_ERROR(CheckId(s.from));
    TENON_RETURN_IF_ERROR(CheckWritable(s.to));
    return CheckSame(s.from, s.to);
  }

  Status CheckSame(SlotId from, SlotId to) const {
    const Slot& a = plan_.slots[from];
    const Slot& b = plan_.slots[to];
    if (a.dtype == b.dtype && a.dims == b.dims) return OkStatus();
    return InvalidArgument(
        fmt::format("copies {} to {}", ToString(Shape{a.dtype, a.dims}), ToString(Shape{b.dtype, b.dims})));
  }

  Status One(const WhileStep& s, int depth) const {
    if (s.trip_count < 0) TENON_RETURN_IF_ERROR(CheckScalar(s.predicate, {DType::kPred}, "the predicate"));
    TENON_RETURN_IF_ERROR(Check(s.condition, depth + 1).WithContext("condition"));
    TENON_RETURN_IF_ERROR(Check(s.body, depth + 1).WithContext("body"));
    for (const auto& [from, to] : s.carry) {
      TENON_RETURN_IF_ERROR(CheckId(from));
      TENON_RETURN_IF_ERROR(CheckWritable(to));
      TENON_RETURN_IF_ERROR(CheckSame(from, to));
    }
    return OkStatus();
  }

  Status One(const CaseStep& s, int depth) const {
    TENON_RETURN_IF_ERROR(CheckScalar(s.index, {DType::kS32, DType::kPred}, "the branch index"));
    if (s.branches.empty()) return InvalidArgument("case without branches");
    for (const Seq& branch : s.branches) TENON_RETURN_IF_ERROR(Check(branch, depth + 1).WithContext("branch"));
    return OkStatus();
  }

  Status One(const CustomCallStep& s, int) const {
    for (const auto& [result, operand] : s.aliases) {
      if (result >= s.results.size() || operand >= s.operands.size())
        return InvalidArgument("alias of no operand or result");
    }
    return CheckOperands(s.operands, s.results).WithContext("custom_call " + s.target);
  }

  Status One(const EvaluateStep& s, int) const {
    if (!s.program) return InvalidArgument("evaluate without a program");
    return CheckOperands(s.operands, s.results).WithContext("evaluate " + s.op);
  }

  const Plan& plan_;
  const drivers::Registry* families_;
};

}  // namespace

namespace {

/// A port's size must fit, and its strides be those of a permutation of a dense array.
Status CheckPort(const Shape& shape, const Dims& strides) {
  TENON_RETURN_IF_ERROR(CheckedSizeBytes(shape).status());
  if (strides.size() != shape.rank())
    return InvalidArgument(fmt::format("{} has {} strides", ToString(shape), strides.size()));
  std::vector<std::pair<int64_t, int64_t>> by_stride;
  for (size_t i = 0; i < strides.size(); ++i) {
    if (shape.dims[i] == 0) return OkStatus();
    if (shape.dims[i] != 1) by_stride.push_back({strides[i], shape.dims[i]});
  }
  std::sort(by_stride.begin(), by_stride.end());
  int64_t wanted = 1;
  for (const auto& [stride, extent] : by_stride) {
    if (stride != wanted) return InvalidArgument(fmt::format("the layout of {} is not dense", ToString(shape)));
    wanted *= extent;
  }
  return OkStatus();
}

Status VerifyAll(const Plan& plan, const drivers::Registry* families) {
  for (const Input& in : plan.inputs) TENON_RETURN_IF_ERROR(CheckPort(in.shape, in.stride_elems).WithContext("input"));
  for (const Output& out : plan.outputs)
    TENON_RETURN_IF_ERROR(CheckPort(out.shape, out.stride_elems).WithContext("output"));
  for (const Constant& c : plan.constants) {
    if (!c.bytes) return InvalidArgument("a constant has no bytes");
  }
  TENON_RETURN_IF_ERROR(Verifier(plan, families).All());
  return internal::VerifyFlow(plan);
}

}  // namespace

Status Verify(const Plan& plan) { return VerifyAll(plan, nullptr); }

Status Verify(const Plan& plan, const drivers::Registry& families) { return VerifyAll(plan, &families); }

}  // namespace tenon::plan
