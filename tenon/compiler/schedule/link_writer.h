#pragma once

// Writes a loop as one kernel; link.h says when.

#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenon/compiler/schedule/link_survey.h"
#include "tenon/kir/builder.h"

namespace tenon::compiler {

/// What one attempt found out for the next one.
struct LinkLearnt {
  std::set<uint32_t> flat;                   ///< Places that are indexed by element.
  std::set<const plan::WhileStep*> stepped;  ///< Loops whose conditions are steps, not expressions.
};

/// Scalars are followed as values: those that loops change become carries, and memory holds only what is computed from
/// memory.
class LinkWriter {
 public:
  LinkWriter(const LinkSurvey& survey, FusedProgram& program, const target::Target& target, LinkLearnt& learnt)
      : survey_(survey), p_(program), target_(target), learnt_(learnt) {}
  /// Whether trying again makes sense after a failure.
  bool again() const { return again_; }
  /// Nothing where it fails; what it learnt is for the next attempt.
  std::optional<LinkedLoop> Write(const plan::WhileStep& loop);

 private:
  void Fail() { failed_ = true; }
  void Again() { failed_ = again_ = true; }
  const LinkPlace& Place(uint32_t id) const { return survey_.places.at(id); }
  bool IsScalar(uint32_t id) const { return Place(id).is_scalar; }
  bool IsFlat(uint32_t id) const {
    const LinkPlace& place = Place(id);
    return place.flat || !place.form || learnt_.flat.contains(id);
  }
  void MakeFlat(uint32_t id) {
    learnt_.flat.insert(id);
    Again();
  }

  // Memory (link_memory.cc).
  kir::Buf AddBuffer(kir::BufKind kind, DType type, const Dims& extents, const Dims& strides, plan::SlotId slot);
  kir::Buf BufferOf(uint32_t id);
  /// A slot for memory that is only read: one value's, whole where it is indexed by element.
  plan::SlotId SlotOfReader(const LinkPlace& place, const Form& form, bool flat);
  /// Axes of kernel axes `at`, which index memory as `form` says, in the place's own form.
  SmallVector<kir::Axis, 4> AxesOf(uint32_t id, const Form& form, const SmallVector<kir::Axis, 4>& at);
  kir::Val Signal();
  /// A dim of that extent that the kernel or copy at hand does not use yet.
  kir::DimId DimOf(int64_t extent, kir::DimKind kind);

  // Scalars (link_scalars.cc).
  /// Whether the value stays what it is when memory changes.
  bool IsPure(kir::Val v);
  /// The bits of a scalar that the program knows.
  std::optional<uint64_t> Constant(const LinkPlace& place) const;
  kir::Val ReadScalar(uint32_t id) { return b_.Read(BufferOf(id), {kir::AtOffset(kir::Size::Of(0))}); }
  /// The scalar as it is now.
  kir::Val Current(uint32_t id);
  void Become(uint32_t id, kir::Val value, kir::Stage& stage);
  void Keep(uint32_t id, kir::Val value, kir::Stage& stage);
  /// Buffers that a value is read from and that may change.
  std::set<kir::Buf> MemoryBehind(kir::Val value);
  /// Stores a waiting scalar before memory behind it changes.
  void Settle(uint32_t id, kir::Seq& out);
  void SettleAll(kir::Seq& out);
  /// Before a kernel: what waits and is read by it alone becomes part of it, unless it writes to the memory behind.
  void SettleFor(const plan::KernelStep& s, kir::Seq& out);

  // Loops and branches (link_loops.cc).
  /// Scalars that a part of the program changes, and that matter before or after it.
  std::vector<uint32_t> CarriesOf(const ScalarUses& uses) const;
  /// The uses within a part that carries these scalars: what it carries matters at its end.
  static ScalarUses Inside(ScalarUses uses, const std::vector<uint32_t>& carries);
  /// A loop that carries scalars, while it is being written.
  struct Open {
    kir::Loop loop;
    std::vector<uint32_t> carries;
    std::unordered_map<uint32_t, kir::Val> known;
    std::set<uint32_t> in_memory;
  };

  Open Enter(std::vector<uint32_t> carries);
  void Begin(Open& open);
  void SetCarried(const Open& open);
  /// After the body: the carries' next values, those of the scalars first; then what is known behind the loop.
  void Leave(Open& open, const ScalarUses& uses, const std::vector<kir::Val>& more_next);
  void While(const plan::WhileStep& w, kir::Seq& out);
  double TimeNs(const plan::WhileStep& w) const;
  void Steps(const plan::Seq& seq, kir::Seq& out);
  /// Branches are loops of one trip or none. All of them are decided before the first one runs.
  void Case(const plan::CaseStep& c, kir::Seq& out);

  // Copies (link_copies.cc).
  /// Copies as if at once: what others still read is overwritten last.
  void Carry(const std::vector<std::pair<plan::SlotId, plan::SlotId>>& pairs, kir::Seq& out);
  bool SameView(plan::SlotId a, plan::SlotId b) const;
  /// Axes over dims of those extents, which become dims of the stage.
  SmallVector<kir::Axis, 4> Walk(const Dims& extents, kir::Stage& stage);
  /// The place of such axes in a dense row of elements.
  static kir::Axis InRow(const SmallVector<kir::Axis, 4>& at, const Dims& extents);
  /// One store per part of the elements.
  void Store(kir::Stage& stage, kir::Buf buf, const SmallVector<kir::Axis, 4>& at, int component, kir::Val value);
  /// The view's elements, one behind the other.
  void Move(plan::SlotId from, kir::Buf to, kir::Seq& out);
  /// `saved`: where the elements wait in a row; else they are where `from` views them.
  void Copy(plan::SlotId from, plan::SlotId to, kir::Seq& out, kir::Buf saved = kir::kNoBuf);

  // Kernels (link_kernel.cc).
  /// One kernel of the loop on its way into the new one.
  struct Moving {
    const plan::KernelStep& step;
    const kir::Kernel& k;
    std::vector<kir::DimId> dims;
    std::vector<kir::Val> counters;  ///< By dim: its value where it is a loop; kir::kNone where it stays a dim.
    std::vector<uint32_t> counter_ids;
    std::vector<kir::Buf> locals;
    std::unordered_map<uint32_t, uint32_t> ids;
    std::vector<kir::Val> nodes;

    kir::Size Of(kir::Size s) const { return kir::Size::Of(s.Value(step.params.data())); }
  };

  void Kernel(const plan::KernelStep& s, kir::Seq& out);
  /// The steps from `first` on go into a loop over the dim.
  void RunAsLoop(kir::DimId dim, const Moving& m, kir::Seq& steps, size_t first);
  void NewIds(const kir::Seq& seq, Moving& m);
  kir::Axis Axis(const kir::Axis& a, const Moving& m);
  SmallVector<kir::Guard, 1> Guards(const SmallVector<kir::Guard, 1>& guards, const Moving& m);
  /// Buffer and axes of an access.
  std::pair<kir::Buf, SmallVector<kir::Axis, 4>> Access(kir::Buf buf, const SmallVector<kir::Axis, 4>& from,
                                                        const Moving& m);
  kir::Val Node(const kir::Node& n, Moving& m);
  kir::Step Step(const kir::Step& step, Moving& m, bool top);
  kir::Stage Stage(const kir::Stage& from, Moving& m, bool top);

  const LinkSurvey& survey_;
  FusedProgram& p_;
  const target::Target& target_;
  LinkLearnt& learnt_;
  bool failed_ = false, again_ = false;
  kir::KernelBuilder b_;
  SmallVector<plan::SlotId, 4> slots_;  // By buffer.
  std::unordered_map<uint32_t, kir::Buf> buffer_;
  kir::Buf signal_ = kir::kNoBuf;
  kir::DimMask used_dims_ = 0;
  std::vector<bool> pure_;                        // By node.
  std::unordered_map<uint32_t, kir::Val> known_;  // Scalars whose value is at hand.
  // Scalars whose value depends on memory, which is not to change before the one who reads them has it.
  std::map<uint32_t, std::set<kir::Buf>> waiting_;
  std::set<uint32_t> in_memory_;  // Scalars whose memory holds their value.
  ScalarUses top_;
  const ScalarUses* scope_ = nullptr;  // What the part around the one at hand uses.
};

}  // namespace tenon::compiler
