#include "tenon/compiler/schedule/link_survey.h"

#include <algorithm>
#include <utility>

#include "tenon/compiler/fuse/scalar_ops.h"
#include "tenon/compiler/schedule/policy.h"
#include "tenon/plan/policy.h"
#include "tenon/target/work.h"

namespace tenon::compiler {

using plan::SlotId;

namespace {

constexpr int kMaxDepth = 8;  // structural: kernels may nest loops 16 deep, and a branch is one

int64_t TripsOf(const plan::WhileStep& loop) {
  return loop.trip_count >= 0 ? loop.trip_count : plan::policy::kUnknownTrips;
}

/// Whether the value needs a result of one of the stage's own reductions.
bool NeedsReduced(const kir::Kernel& k, const kir::Stage& stage, kir::Val value) {
  std::vector<bool> needs(value + 1, false);
  for (kir::Val v = 0; v <= value; ++v) {
    const kir::Node& node = k.nodes[v];
    needs[v] = std::any_of(node.in.begin(), node.in.end(), [&](kir::Val in) { return needs[in]; });
    if (node.op != kir::Op::kReduced) continue;
    needs[v] = std::any_of(stage.reduces.begin(), stage.reduces.end(),
                           [&](const kir::Reduce& r) { return r.id == node.attr; });
  }
  return needs[value];
}

}  // namespace

LinkSurvey::LinkSurvey(const plan::WhileStep& loop, const FusedProgram& program, const LoopMemory& memory,
                       const target::Target& target)
    : p_(program), memory_(memory), target_(target) {
  // Carried first: what they say of a place must be known when it is touched.
  for (const auto& [from, to] : loop.carry) Touch(to, true).carried = to;
  plan::Seq const* const parts[] = {&loop.condition, &loop.body};
  for (const plan::Seq* seq : parts) Visit(*seq, 1);
  for (const auto& [from, to] : loop.carry) Visit(plan::CopyStep{from, to});
  if (loop.trip_count < 0) Touch(loop.predicate, false);
  target::Work trip = WorkOf(loop.condition) + WorkOf(loop.body);
  const double launches = std::exchange(trip.launches, 0);
  // What runs one by one does so anywhere.
  trip.serial = 0;
  ok_ = ok_ && steps_ > 0 && steps_ <= policy::kMaxLinkedSteps && nodes_ <= target_.limits.loop_nodes &&
        target::TimeNs(target_, trip) <= launches * policy::kLinkedStepNs;
  int64_t bytes = 0;
  for (const auto& [id, place] : places) {
    if (!place.outlives) bytes += place.elements * ByteWidth(place.dtype);
    // What is changed here and seen elsewhere is what the loop carries.
    if (place.outlives && place.written && place.carried == plan::kNoSlot) ok_ = false;
  }
  ok_ = ok_ && bytes <= target_.Cache(0).bytes;
}

LinkPlace& LinkSurvey::Touch(SlotId slot, bool write) {
  const View& view = p_.views[slot];
  const uint32_t id = PlaceOf(slot);
  auto [it, fresh] = places.try_emplace(id);
  LinkPlace& place = it->second;
  const int64_t width = ByteWidth(view.dtype);
  if (fresh) {
    place.dtype = view.dtype;
    place.outlives = memory_.outlives(id);
    place.elements = width == 0 ? 0 : p_.buffers[view.buffer].bytes / width;
    place.is_scalar = place.elements == 1 && !IsComplex(view.dtype);
  }
  // What only steps of their own move has no kernel that holds it.
  const bool can_hold = KernelCanHold(view.dtype) && target_.HasType(view.dtype);
  if (place.dtype != view.dtype || !can_hold || place.elements == 0) ok_ = false;
  place.written |= write;
  if (!write) place.read.push_back(slot);
  return place;
}

bool LinkSurvey::RunsAsLoop(const kir::Kernel& kernel, kir::DimId dim) {
  const bool shared = kernel.seq.size() != 1 || !std::holds_alternative<kir::Stage>(kernel.seq[0].is);
  return kernel.dims[dim].kind == kir::DimKind::kSerial || (dim < kernel.outer && shared);
}

Form LinkSurvey::FormOf(const plan::KernelStep& step, size_t buffer) const {
  const kir::Buffer& b = p_.kernels[step.kernel].buffers[buffer];
  Form form{p_.views[step.buffers[buffer]].offset_elems, {}, {}};
  for (size_t i = 0; i < b.extent.size(); ++i) {
    form.extents.push_back(b.extent[i].Value(step.params.data()));
    form.strides.push_back(b.stride[i].Value(step.params.data()));
  }
  return form;
}

void LinkSurvey::Visit(const plan::Seq& seq, int depth) {
  if (depth > kMaxDepth) ok_ = false;
  for (const plan::Step& step : seq) {
    if (!ok_) return;
    if (const auto* k = std::get_if<plan::KernelStep>(&step.is)) {
      Visit(*k);
    } else if (const auto* c = std::get_if<plan::CopyStep>(&step.is)) {
      Visit(*c);
    } else if (const auto* w = std::get_if<plan::WhileStep>(&step.is)) {
      Visit(w->condition, depth + 1);
      Visit(w->body, depth + 1);
      if (w->trip_count < 0) Touch(w->predicate, false);
      for (const auto& [from, to] : w->carry) Visit(plan::CopyStep{from, to});
    } else if (const auto* b = std::get_if<plan::CaseStep>(&step.is)) {
      LinkPlace& index = Touch(b->index, false);
      ok_ = ok_ && (index.dtype == DType::kPred || index.dtype == DType::kS32);
      for (const plan::Seq& branch : b->branches) Visit(branch, depth + 1);
    } else {
      ok_ = false;
    }
  }
}

void LinkSurvey::Visit(const plan::KernelStep& s) {
  const kir::Kernel& k = p_.kernels[s.kernel];
  ++steps_;
  nodes_ += static_cast<int64_t>(k.nodes.size());
  // What runs as a loop is no box of a stage, and a dim of one stage alone.
  kir::DimMask loops = 0;
  int64_t rows = 1;
  for (kir::DimId d = 0; d < k.outer; ++d) {
    if (RunsAsLoop(k, d) && k.dims[d].kind != kir::DimKind::kSerial) rows *= k.dims[d].extent.Value(s.params.data());
  }
  if (rows > policy::kMaxLinkedRows) ok_ = false;
  ForEachStage(k.seq, true, [&](const kir::Stage& stage, bool top) {
    for (const kir::Range& r : stage.domain) ok_ = ok_ && !RunsAsLoop(k, r.dim);
    for (kir::DimId d : stage.dims) {
      if (!RunsAsLoop(k, d)) continue;
      ok_ = ok_ && top && !(loops >> d & 1);
      loops |= kir::DimMask{1} << d;
    }
  });
  for (size_t i = 0; i < s.buffers.size() && ok_; ++i) {
    const kir::BufKind kind = k.buffers[i].kind;
    if (kind == kir::BufKind::kLocal) continue;
    if (s.buffers[i] == plan::kNoSlot) {
      ok_ = false;
      return;
    }
    LinkPlace& place = Touch(s.buffers[i], kind == kir::BufKind::kOut);
    if (place.dtype != k.buffers[i].type) ok_ = false;
    const Form form = FormOf(s, i);
    if (place.form && *place.form != form) place.flat = true;
    place.form = form;
  }
  if (ok_) VisitScalars(s);
}

/// Finds scalars that a kernel reads or writes otherwise than as a whole.
void LinkSurvey::VisitScalars(const plan::KernelStep& s) {
  const kir::Kernel& k = p_.kernels[s.kernel];
  std::set<uint32_t> read;
  const auto place_of = [&](kir::Buf buf) -> LinkPlace* {
    return s.buffers[buf] == plan::kNoSlot ? nullptr : &places.at(PlaceOf(s.buffers[buf]));
  };
  for (const kir::Read& r : k.reads) {
    LinkPlace* place = place_of(r.buf);
    if (place == nullptr) continue;
    if (!r.guard.empty()) place->is_scalar = false;
    read.insert(PlaceOf(s.buffers[r.buf]));
  }
  ForEachStage(k.seq, true, [&](const kir::Stage& stage, bool top) {
    bool reduced_only = k.outer == 0;
    for (kir::DimId d : stage.dims) reduced_only &= k.dims[d].kind == kir::DimKind::kReduce;
    for (const kir::Store& store : stage.stores) {
      LinkPlace* place = place_of(store.buf);
      if (place == nullptr) continue;
      const bool once = k.outer == 0 && (stage.dims.empty() || (reduced_only && NeedsReduced(k, stage, store.value)));
      // Kernels of several stages may read back what they wrote.
      const bool back = k.seq.size() > 1 && read.contains(PlaceOf(s.buffers[store.buf]));
      if (!top || !once || back || !store.guard.empty() || store.combine >= 0) place->is_scalar = false;
    }
  });
}

void LinkSurvey::Visit(const plan::CopyStep& s) {
  Touch(s.from, false);
  Touch(s.to, true);
}

target::Work LinkSurvey::WorkOf(const plan::Seq& seq) const {
  target::Work work;
  for (const plan::Step& step : seq) {
    if (const auto* k = std::get_if<plan::KernelStep>(&step.is)) {
      work += k->work;
      work.launches += 1 - k->work.launches;
    } else if (const auto* w = std::get_if<plan::WhileStep>(&step.is)) {
      work += WorkOf(*w);
    } else if (const auto* b = std::get_if<plan::CaseStep>(&step.is)) {
      target::Work most;
      for (const plan::Seq& branch : b->branches) {
        const target::Work one = WorkOf(branch);
        if (target::TimeNs(target_, one) > target::TimeNs(target_, most)) most = one;
      }
      work += most;
    }
  }
  // It is in the nearest cache.
  work.bytes_cached += work.bytes_read + work.bytes_written;
  work.bytes_read = work.bytes_written = 0;
  return work;
}

target::Work LinkSurvey::WorkOf(const plan::WhileStep& loop) const {
  return static_cast<double>(TripsOf(loop)) * (WorkOf(loop.condition) + WorkOf(loop.body));
}

// How scalars are used
// ---------------------------------------------------------------------------------------------------------------

namespace {

void Read(ScalarUses& uses, uint32_t place) {
  ScalarUse& use = uses[place];
  ++use.accesses;
  use.exposed |= !use.certain;
}
void Write(ScalarUses& uses, uint32_t place) {
  ScalarUse& use = uses[place];
  ++use.accesses;
  use.written = use.certain = true;
}
/// What may run after what `uses` says; `certain`: surely runs.
void Then(ScalarUses& uses, const ScalarUses& next, bool certain) {
  for (const auto& [place, n] : next) {
    ScalarUse& use = uses[place];
    use.accesses += n.accesses;
    use.exposed |= n.exposed && !use.certain;
    use.written |= n.written;
    use.certain |= certain && n.certain;
  }
}

}  // namespace

ScalarUses LinkSurvey::UsesOf(const plan::Seq& seq) const {
  ScalarUses uses;
  Add(seq, uses);
  return uses;
}
ScalarUses LinkSurvey::UsesOf(const plan::WhileStep& loop) const {
  ScalarUses uses;
  Add(loop, uses);
  return uses;
}

void LinkSurvey::Add(const plan::Seq& seq, ScalarUses& uses) const {
  for (const plan::Step& step : seq) {
    if (const auto* k = std::get_if<plan::KernelStep>(&step.is)) {
      const kir::Kernel& kernel = p_.kernels[k->kernel];
      for (const bool write : {false, true}) {
        for (size_t i = 0; i < k->buffers.size(); ++i) {
          if (k->buffers[i] == plan::kNoSlot || (kernel.buffers[i].kind == kir::BufKind::kOut) != write) continue;
          write ? Write(uses, PlaceOf(k->buffers[i])) : Read(uses, PlaceOf(k->buffers[i]));
        }
      }
    } else if (const auto* c = std::get_if<plan::CopyStep>(&step.is)) {
      Read(uses, PlaceOf(c->from));
      Write(uses, PlaceOf(c->to));
    } else if (const auto* w = std::get_if<plan::WhileStep>(&step.is)) {
      Then(uses, UsesOf(*w), false);
    } else if (const auto* b = std::get_if<plan::CaseStep>(&step.is)) {
      Read(uses, PlaceOf(b->index));
      for (const plan::Seq& branch : b->branches) Then(uses, UsesOf(branch), false);
    }
  }
}

void LinkSurvey::Add(const plan::WhileStep& loop, ScalarUses& uses) const {
  Add(loop.condition, uses);
  if (loop.trip_count < 0) Read(uses, PlaceOf(loop.predicate));
  Add(loop.body, uses);
  for (const auto& [from, to] : loop.carry) Read(uses, PlaceOf(from));
  for (const auto& [from, to] : loop.carry) Write(uses, PlaceOf(to));
}

}  // namespace tenon::compiler
