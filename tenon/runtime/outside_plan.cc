#include "tenon/runtime/outside_plan.h"

#include <fmt/format.h>

#include <optional>
#include <span>
#include <vector>

#include "tenon/runtime/internal/bounds.h"

namespace tenon::runtime {
namespace {

class Checker {
 public:
  Checker(const plan::Plan& plan, const drivers::Registry& families) : plan_(plan), families_(families) {}

  Status Check(const plan::Seq& seq) const {
    for (const plan::Step& step : seq)
      TENON_RETURN_IF_ERROR(std::visit([this](const auto& s) { return One(s); }, step.is));
    return OkStatus();
  }

 private:
  int64_t MemoryBytes(const plan::Slot& slot) const {
    switch (slot.kind) {
      case plan::SlotKind::kArg:
        return SizeBytes(plan_.inputs[slot.index].shape);
      case plan::SlotKind::kOut:
        return SizeBytes(plan_.outputs[slot.index].shape);
      case plan::SlotKind::kConst:
        return static_cast<int64_t>(plan_.constants[slot.index].bytes->size());
      case plan::SlotKind::kTemp:
        return plan_.arena_bytes;
    }
    return 0;
  }

  template <class Slots, class Params>
  Status CheckKernel(uint32_t kernel, const Slots& slots, const Params& params,
                     const std::optional<internal::TileOf>& tile) const {
    std::vector<internal::Reach> reach;
    for (plan::SlotId id : slots) {
      if (id == plan::kNoSlot) {
        reach.push_back({});
        continue;
      }
      // Of the whole memory behind the slot: other slots there are this plan's own affair.
      const plan::Slot& slot = plan_.slots[id];
      const int64_t size = MemoryBytes(slot);
      if (slot.offset_bytes < 0 || slot.offset_bytes > size)
        reach.push_back({});
      else
        reach.push_back({slot.offset_bytes, size - slot.offset_bytes});
    }
    return internal::CheckBounds(plan_.kernels[kernel], std::span<const int64_t>(params.data(), params.size()), reach,
                                 tile)
        .WithContext(fmt::format("kernel {}", kernel));
  }

  Status One(const plan::KernelStep& s) const { return CheckKernel(s.kernel, s.buffers, s.params, std::nullopt); }

  Status One(const plan::DriverStep& s) const {
    if (s.hooks.empty()) return OkStatus();
    const plan::DriverArrays arrays = plan::ArraysOf(plan_, s);
    TENON_ASSIGN_OR_RETURN(const drivers::Facts facts, families_.Describe(s.driver, s.config, arrays.operands()));
    for (const auto& [name, hook] : s.hooks) {
      for (const drivers::HookPoint& p : facts.hooks) {
        if (p.name != name) continue;
        const internal::TileOf tile{p.rows,      p.cols, p.batch, p.type, static_cast<int32_t>(hook.params.size()),
                                    p.col_stride};
        TENON_RETURN_IF_ERROR(CheckKernel(hook.kernel, hook.buffers, hook.params, tile).WithContext("hook " + name));
      }
    }
    return OkStatus();
  }

  Status One(const plan::WhileStep& s) const {
    TENON_RETURN_IF_ERROR(Check(s.condition));
    return Check(s.body);
  }
  Status One(const plan::CaseStep& s) const {
    for (const plan::Seq& branch : s.branches) TENON_RETURN_IF_ERROR(Check(branch));
    return OkStatus();
  }
  Status One(const plan::CopyStep&) const { return OkStatus(); }
  Status One(const plan::CustomCallStep&) const { return OkStatus(); }
  Status One(const plan::EvaluateStep&) const { return OkStatus(); }

  const plan::Plan& plan_;
  const drivers::Registry& families_;
};

}  // namespace

Status CheckOutsidePlan(const plan::Plan& plan, const drivers::Registry& families) {
  return Checker(plan, families).Check(plan.steps);
}

}  // namespace tenon::runtime
