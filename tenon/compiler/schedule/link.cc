#include "tenon/compiler/schedule/link.h"

#include "tenon/compiler/fuse/canonical.h"
#include "tenon/compiler/fuse/in_place.h"
#include "tenon/compiler/fuse/integers.h"
#include "tenon/compiler/schedule/link_writer.h"
#include "tenon/compiler/schedule/policy.h"
#include "tenon/kir/coverage.h"

namespace tenon::compiler {

std::optional<LinkedLoop> LinkWriter::Write(const plan::WhileStep& loop) {
  for (const auto& [id, place] : survey_.places) {
    if (place.is_scalar && place.outlives) in_memory_.insert(id);
  }
  kir::Seq seq;
  top_ = survey_.UsesOf(loop);
  for (auto& [id, use] : top_) {
    if (survey_.places.at(id).outlives) ++use.accesses;
  }
  scope_ = &top_;
  While(loop, seq);
  // What outlives the loop goes back to memory.
  kir::Stage finals;
  for (const auto& [id, value] : known_) {
    const LinkPlace& place = survey_.places.at(id);
    if (!place.outlives || !place.written) continue;
    kir::Store store;
    store.buf = BufferOf(id);
    store.at = {kir::AtOffset(kir::Size::Of(0))};
    store.value = value;
    finals.stores.push_back(std::move(store));
  }
  if (!finals.stores.empty()) seq.push_back(kir::Step{std::move(finals)});
  if (failed_) return std::nullopt;
  LinkedLoop linked;
  b_.kernel().seq = std::move(seq);
  linked.kernel = b_.Finish();
  // Loops show now what their counters take.
  SimplifyIntegers(linked.kernel);
  DropKept(linked.kernel);
  DropDead(linked.kernel);
  linked.buffers = std::move(slots_);
  linked.work = survey_.WorkOf(loop);
  linked.work.launches = 1;
  for (const auto& [id, place] : survey_.places) {
    if (!place.outlives) linked.inner.push_back(id);
  }
  return linked;
}

namespace {

/// Whether what a carry starts with is never seen: then nothing in the plan tells whether it was written before the
/// kernel or after it, since both are the same value.
bool OverwritesUnseen(const kir::Kernel& k) {
  for (kir::Buf b = 0; b < k.buffers.size(); ++b) {
    if (k.buffers[b].kind == kir::BufKind::kOut && kir::WritesAll(k, b, {}) && !kir::ReadsOld(k, b, {})) return true;
  }
  return false;
}

}  // namespace

std::optional<LinkedLoop> LinkLoop(const plan::WhileStep& loop, FusedProgram& program, const LoopMemory& memory,
                                   const target::Target& target) {
  // One workgroup would run the whole loop while the others wait.
  if (target.kind == target::Kind::kGpu) return std::nullopt;
  const LinkSurvey survey(loop, program, memory, target);
  if (!survey.ok()) return std::nullopt;
  LinkLearnt learnt;
  for (int attempt = 0; attempt < policy::kLinkAttempts; ++attempt) {
    LinkWriter writer(survey, program, target, learnt);
    std::optional<LinkedLoop> linked = writer.Write(loop);
    if (linked && OverwritesUnseen(linked->kernel)) return std::nullopt;
    if (linked || !writer.again()) return linked;
  }
  return std::nullopt;
}

}  // namespace tenon::compiler
