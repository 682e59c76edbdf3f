#pragma once

// What the steps of a loop touch, and whether one kernel could hold them.

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "tenon/compiler/schedule/link.h"

namespace tenon::compiler {

/// How memory is indexed: where it begins in its place, extents and strides, in elements.
struct Form {
  int64_t offset = 0;
  Dims extents, strides;
  friend bool operator==(const Form&, const Form&) = default;
};

/// A piece of memory that the loop touches.
struct LinkPlace {
  DType dtype = DType::kInvalid;
  int64_t elements = 0;
  bool outlives = false;
  bool written = false;
  /// One element that steps read and write as a whole: it may live in a register.
  bool is_scalar = false;
  /// How kernels index it, if all of them do so alike.
  std::optional<Form> form;
  bool flat = false;                     ///< They do not: indexed by element.
  plan::SlotId carried = plan::kNoSlot;  ///< The slot that the loop itself carries here.
  std::vector<plan::SlotId> read;        ///< Slots that are read.
};

/// How a sequence of steps uses its scalars.
struct ScalarUse {
  int accesses = 0;
  bool written = false;
  bool certain = false;  ///< Written on every way through.
  bool exposed = false;  ///< Maybe read before it is written.
};
using ScalarUses = std::map<uint32_t, ScalarUse>;

class LinkSurvey {
 public:
  LinkSurvey(const plan::WhileStep& loop, const FusedProgram& program, const LoopMemory& memory,
             const target::Target& target);

  /// Whether the loop may become a kernel.
  bool ok() const { return ok_; }
  std::map<uint32_t, LinkPlace> places;

  /// Work of one run of the loop; its launches are the steps that it runs.
  target::Work WorkOf(const plan::WhileStep& loop) const;
  ScalarUses UsesOf(const plan::WhileStep& loop) const;
  ScalarUses UsesOf(const plan::Seq& seq) const;
  uint32_t PlaceOf(plan::SlotId slot) const { return memory_.place_of(slot); }
  /// Whether the dim of a kernel becomes a loop: an outer dim that several steps share, or one whose order matters.
  static bool RunsAsLoop(const kir::Kernel& kernel, kir::DimId dim);
  /// The kernel's buffer as it indexes its place, under these params.
  Form FormOf(const plan::KernelStep& step, size_t buffer) const;

 private:
  void Visit(const plan::Seq& seq, int depth);
  void Visit(const plan::KernelStep& s);
  void Visit(const plan::CopyStep& s);
  void VisitScalars(const plan::KernelStep& s);
  LinkPlace& Touch(plan::SlotId slot, bool write);
  target::Work WorkOf(const plan::Seq& seq) const;
  void Add(const plan::Seq& seq, ScalarUses& uses) const;
  void Add(const plan::WhileStep& loop, ScalarUses& uses) const;

  const FusedProgram& p_;
  const LoopMemory& memory_;
  const target::Target& target_;
  bool ok_ = true;
  int64_t steps_ = 0;
  int64_t nodes_ = 0;
};

/// Calls f(stage, top) for all stages, `top` being false within loops.
template <class F>
void ForEachStage(const kir::Seq& seq, bool top, const F& f) {
  for (const kir::Step& step : seq) {
    if (const auto* stage = std::get_if<kir::Stage>(&step.is)) {
      f(*stage, top);
    } else {
      ForEachStage(std::get<kir::Loop>(step.is).body, false, f);
    }
  }
}

}  // namespace tenon::compiler
