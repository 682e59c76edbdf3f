// How a kernel is cut into launches, and how a launch spreads its points.
#include <fmt/format.h>

#include <algorithm>

#include "tenon/emit_spirv/internal/kernel_emitter.h"
#include "tenon/emit_spirv/policy.h"
#include "tenon/kir/walk.h"

namespace tenon::emit_spirv {

using kir::BufKind;
using kir::DimId;
using kir::DimKind;
using kir::Size;
using kir::Stage;
using kir::Val;

namespace {

/// Stands for an extent that only run time knows: when there is a choice, and when loops must end in time.
constexpr int64_t kUnknown = 1 << 16;
constexpr int64_t kAnyExtent = INT32_MAX;

template <class Fn>
void ForEachStage(const kir::Step& step, const Fn& fn) {
  if (const auto* stage = std::get_if<Stage>(&step.is)) return fn(*stage);
  for (const kir::Step& inner : std::get<kir::Loop>(step.is).body) ForEachStage(inner, fn);
}

/// Sums and products of counts, INT64_MAX where they are larger.
int64_t Plus(int64_t a, int64_t b) { return a > INT64_MAX - b ? INT64_MAX : a + b; }
int64_t Times(int64_t a, int64_t b) { return b != 0 && a > INT64_MAX / b ? INT64_MAX : a * b; }

int64_t RoundUp(int64_t n, int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

}  // namespace

KernelEmitter::KernelEmitter(const kir::Kernel& kernel, const target::Target& target, Places places)
    : k_(kernel),
      target_(target),
      places_(places),
      s_(w_, target),
      deps_(kir::DependentDims(kernel)),
      value_(kernel.nodes.size(), 0) {
  uses_.resize(k_.nodes.size());
  for (Val v = 0; v < k_.nodes.size(); ++v) {
    const kir::Node& node = k_.nodes[v];
    std::set<uint32_t> ids;
    if (node.op == kir::Op::kReduced || node.op == kir::Op::kCarried) ids.insert(node.attr);
    kir::ForEachInput(k_, node, [&](Val in) { ids.insert(uses_[in].begin(), uses_[in].end()); });
    uses_[v].assign(ids.begin(), ids.end());
  }
  accesses_.resize(k_.reads.size());
  for (size_t i = 0; i < k_.reads.size(); ++i) {
    MakeAccess(accesses_[i], k_.reads[i].buf, k_.reads[i].at, k_.reads[i].guard);
  }
  for (const kir::Step& step : k_.seq) {
    ForEachStage(step, [&](const Stage& stage) {
      for (const kir::Store& s : stage.stores) {
        store_access_[&s] = accesses_.size();
        MakeAccess(accesses_.emplace_back(), s.buf, s.at, s.guard);
      }
      if (const auto matrix = FindMatrixSum(stage)) matrix_sums_.emplace(&stage, *matrix);
    });
  }
  CountMath(k_.nodes);
  for (const kir::Graph& g : k_.graphs) CountMath(g.nodes);
  locals_.resize(k_.buffers.size());
}

Status KernelEmitter::Check() const {
  if (target_.kind != target::Kind::kGpu) {
    return InvalidArgument(fmt::format("SPIR-V is for GPUs, got the target {}", target_.name));
  }
  if (!target_.device.i64) return Unimplemented("the device has no 64-bit integers, which addresses are");
  for (size_t d = 0; d < k_.dims.size(); ++d) {
    const Size& extent = k_.dims[d].extent;
    // structural: indices are reckoned in 32 bits
    if (!extent.is_param() && extent.baked > INT32_MAX) {
      return Unimplemented(fmt::format("d{} has {} points, more than an index of 32 bits counts", d, extent.baked));
    }
  }
  for (const kir::Step& step : k_.seq) {
    bool tile_is_known = true;
    ForEachStage(step, [&](const Stage& stage) {
      for (const kir::Reduce& r : stage.reduces) {
        if (r.order != kir::ReduceOrder::kMatrix || target_.device.matrix_units.empty()) continue;
        for (DimId d : stage.dims)
          tile_is_known &= k_.dims[d].kind == DimKind::kReduce || !k_.dims[d].extent.is_param();
      }
    });
    if (!tile_is_known) return Unimplemented("a tile of matrix units whose extents are parameters");
  }
  return OkStatus();
}

std::optional<int64_t> KernelEmitter::PointsOf(const Stage& stage, bool reduced) const {
  int64_t points = 1;
  for (DimId d : stage.dims) {
    if ((k_.dims[d].kind == DimKind::kReduce) != reduced) continue;
    if (k_.dims[d].extent.is_param()) return std::nullopt;
    int64_t n = k_.dims[d].extent.baked;
    for (const kir::Range& r : stage.domain) {
      if (r.dim == d && !r.lo.is_param() && !r.hi.is_param()) n = std::min(n, r.hi.baked - r.lo.baked);
    }
    points *= std::max<int64_t>(n, 0);
  }
  return points;
}

int64_t KernelEmitter::Elements(const kir::Buffer& b) const {
  int64_t last = 0;
  for (size_t i = 0; i < b.extent.size(); ++i) {
    if (b.extent[i].is_param() || b.stride[i].is_param()) return -1;
    if (b.extent[i].baked == 0) return 0;
    last += (b.extent[i].baked - 1) * b.stride[i].baked;
  }
  return last + 1;
}

int64_t KernelEmitter::FreeGroup(int64_t invocations) const {
  const int64_t most = target_.device.group_lanes;
  int64_t size = std::min(most, policy::kFreeGroup);
  while (2 * size <= most && invocations / (2 * size) >= target_.cores * policy::kGroupsPerCore) size *= 2;
  return size;
}

// A stage of its own: its parallel dims are spread as the outer ones are.
KernelEmitter::Part KernelEmitter::StagePart(const kir::Step& step) const {
  const auto& stage = std::get<Stage>(step.is);
  Part part;
  part.steps = {&step};
  part.stage = &stage;
  int64_t points = 1;
  const auto spread = [&](DimId d) {
    part.grid.push_back(d);
    points *= k_.dims[d].extent.is_param() ? kUnknown : k_.dims[d].extent.baked;
  };
  for (DimId d = 0; d < k_.outer; ++d) {
    if (k_.dims[d].kind == DimKind::kParallel) spread(d);
  }
  for (DimId d : stage.dims) {
    if (k_.dims[d].kind == DimKind::kParallel) spread(d);
  }
  int64_t width = 0;
  for (const kir::Reduce& r : stage.reduces) {
    if (r.order == kir::ReduceOrder::kLanes) width = std::max(width, Lanes(r));
  }
  const int64_t summed = PointsOf(stage, true).value_or(kUnknown);
  const bool few = points < policy::kFewResults;
  if (width > 0 && width <= target_.device.group_lanes &&
      summed >= (few ? policy::kSharedReduceOfFew : policy::kSharedReduce)) {
    part.team = true;
    part.group_size = std::min(target_.device.group_lanes, std::max(policy::kTeam, width));
  } else if (!part.grid.empty()) {
    if (points / kWide >= target_.cores * policy::kWidePerCore) part.wide = WideDim(stage, part.grid.back());
    const int64_t wide = part.wide ? kWide : 1;
    if (points >= policy::kPointsForTogether && stage.reduces.empty()) {
      Touched touched;
      std::vector<Val> roots;
      Touch(step, touched, roots);
      const int64_t nodes = std::ssize(Needed(roots));
      while (wide * part.points_together < policy::kPointsTogether &&
             2 * wide * part.points_together * nodes <= policy::kNodesTogether) {
        part.points_together *= 2;
      }
    }
    part.group_size = FreeGroup(points / (wide * part.points_together));
  }
  return part;
}

// Steps that are run for each point of the outer dims, one after the other.
KernelEmitter::Part KernelEmitter::ChainPart(std::vector<const kir::Step*> steps) const {
  Part part;
  part.steps = std::move(steps);
  int64_t chains = 1, longest = 1, width = policy::kTeam;
  bool matrix = false;
  for (DimId d = 0; d < k_.outer; ++d) {
    if (k_.dims[d].kind != DimKind::kParallel) continue;
    part.grid.push_back(d);
    chains *= k_.dims[d].extent.is_param() ? kUnknown : k_.dims[d].extent.baked;
  }
  for (const kir::Step* step : part.steps) {
    ForEachStage(*step, [&](const Stage& stage) {
      const int64_t points = PointsOf(stage, false).value_or(kUnknown) * PointsOf(stage, true).value_or(kUnknown);
      longest = std::max(longest, points);
      matrix |= MatrixSumOf(stage) != nullptr;
      for (const kir::Reduce& r : stage.reduces) {
        if (r.order == kir::ReduceOrder::kLanes && points >= policy::kSharedReduceOfFew) {
          width = std::max(width, Lanes(r));
        }
      }
    });
  }
  part.team = longest > policy::kShortChain || (longest > 1 && chains < policy::kManyChains);
  // structural: subgroups are whole
  const int64_t subgroup = target_.device.most_subgroup;
  if (matrix && subgroup <= target_.device.group_lanes) {
    part.team = true;
    part.group_size = subgroup * std::min(policy::kMatrixSubgroups, target_.device.group_lanes / subgroup);
  } else if (part.team) {
    part.group_size = std::min(target_.device.group_lanes, width);
  } else {
    part.group_size = part.grid.empty() ? 1 : std::min(target_.device.group_lanes, policy::kTeam);
  }
  return part;
}

std::vector<KernelEmitter::Part> KernelEmitter::MakeParts() const {
  std::vector<const kir::Step*> all;
  bool small = true;
  for (const kir::Step& step : k_.seq) {
    all.push_back(&step);
    ForEachStage(step, [&](const Stage& stage) {
      const int64_t points = PointsOf(stage, false).value_or(kUnknown) * PointsOf(stage, true).value_or(kUnknown);
      small &= points <= policy::kSmallStages;
    });
  }
  const auto* only = all.size() == 1 ? std::get_if<Stage>(&all[0]->is) : nullptr;
  if (only != nullptr && MatrixSumOf(*only) == nullptr) return {StagePart(*all[0])};
  if (k_.outer > 0 || all.size() == 1) return {ChainPart(all)};
  if (small) return {ChainPart(all)};
  std::vector<Part> parts;
  for (const kir::Step* step : all) {
    parts.push_back(std::holds_alternative<Stage>(step->is) ? StagePart(*step) : ChainPart({step}));
  }
  return parts;
}

void KernelEmitter::Touch(const kir::Step& step, Touched& t, std::vector<Val>& roots) const {
  if (const auto* loop = std::get_if<kir::Loop>(&step.is)) {
    t.defines.insert(loop->id);
    roots.insert(roots.end(), loop->init.begin(), loop->init.end());
    roots.insert(roots.end(), loop->next.begin(), loop->next.end());
    if (loop->condition != kir::kNone) roots.push_back(loop->condition);
    for (const kir::Step& inner : loop->body) Touch(inner, t, roots);
    return;
  }
  const auto& stage = std::get<Stage>(step.is);
  for (const kir::Reduce& r : stage.reduces) {
    t.defines.insert(r.id);
    roots.insert(roots.end(), r.in.begin(), r.in.end());
    roots.insert(roots.end(), r.init.begin(), r.init.end());
  }
  for (const kir::Store& s : stage.stores) {
    kir::ForEachRoot(s, [&](Val v) { roots.push_back(v); });
    t.writes.insert(s.buf);
    if (s.combine >= 0) t.reads.insert(s.buf);
  }
}

KernelEmitter::Touched KernelEmitter::TouchedBy(const Part& part) const {
  Touched t;
  std::vector<Val> roots;
  for (const kir::Step* step : part.steps) Touch(*step, t, roots);
  std::vector<bool> needed(k_.nodes.size(), false);
  for (Val v : roots) needed[v] = true;
  for (size_t v = needed.size(); v-- > 0;) {
    if (!needed[v]) continue;
    const kir::Node& node = k_.nodes[v];
    kir::ForEachInput(k_, node, [&](Val in) { needed[in] = true; });
    if (node.op == kir::Op::kRead) t.reads.insert(k_.reads[node.attr].buf);
    if (node.op == kir::Op::kReduced || node.op == kir::Op::kCarried) t.uses.insert(node.attr);
  }
  const auto resolve = [&](std::set<kir::Buf>& buffers) {
    std::set<kir::Buf> resolved;
    for (kir::Buf b : buffers) {
      if (k_.buffers[b].kind == BufKind::kLocal) t.locals.insert(b);
      resolved.insert(k_.buffers[b].in_place_of == kir::kNoBuf ? b : k_.buffers[b].in_place_of);
    }
    buffers = std::move(resolved);
  };
  resolve(t.reads);
  resolve(t.writes);
  return t;
}

// What launches leave for later ones: results in words of 8 bytes, and local buffers that more than one uses.
void KernelEmitter::PlaceShared(const std::vector<Touched>& touched, Module& module) {
  std::vector<int> users(k_.buffers.size(), 0);
  std::set<uint32_t> defined, crossing;
  for (const Touched& t : touched) {
    for (uint32_t id : t.uses) {
      if (defined.contains(id) && !t.defines.contains(id)) crossing.insert(id);
    }
    defined.insert(t.defines.begin(), t.defines.end());
    for (kir::Buf b : t.locals) ++users[b];
  }
  for (const kir::Step& step : k_.seq) {
    const auto place = [&](uint32_t id, size_t results) {
      if (!crossing.contains(id)) return;
      for (size_t i = 0; i < results; ++i) {
        crossing_[{id, static_cast<uint8_t>(i)}] = module.scratch_bytes;
        module.scratch_bytes += 8;
      }
    };
    if (const auto* loop = std::get_if<kir::Loop>(&step.is)) {
      place(loop->id, loop->types.size());
    } else {
      for (const kir::Reduce& r : std::get<Stage>(step.is).reduces) place(r.id, r.in.size());
    }
  }
  for (size_t b = 0; b < k_.buffers.size(); ++b) {
    if (users[b] < 2) continue;
    const int64_t elements = Elements(k_.buffers[b]);
    if (elements < 0) return Fail(Unimplemented("a local buffer whose size is a parameter"));
    module.scratch_bytes = RoundUp(module.scratch_bytes, 64);
    locals_[b].scratch = module.scratch_bytes;
    module.scratch_bytes += elements * ByteWidth(k_.buffers[b].type);
  }
  module.scratch_bytes = RoundUp(module.scratch_bytes, 64);
}

// Local buffers of one launch: a team's in workgroup memory, if they fit, everything else in scratch memory.
void KernelEmitter::PlaceLocals(const Part& part, const Touched& touched, const Module& module, Dispatch& dispatch) {
  int64_t scratch = 0;
  std::vector<kir::Buf> outside;
  local_bytes_ = 0;
  for (kir::Buf b : touched.locals) {
    if (locals_[b].scratch >= 0) continue;
    const int64_t parts = IsComplex(k_.buffers[b].type) ? 2 : 1;
    const int64_t elements = Elements(k_.buffers[b]);
    if (elements < 0) return Fail(Unimplemented("a local buffer whose size is a parameter"));
    const DType type = PartType(b);
    const int64_t bytes = elements * parts * (Scalars::RegisterBits(type) == 64 ? 8 : 4);
    if (part.team && local_bytes_ + bytes <= target_.device.local_bytes / 4 * 3) {
      locals_[b].words = WorkgroupWords(type, std::max<int64_t>(elements * parts, 1), -2 - b);
      continue;
    }
    locals_[b].scratch = module.scratch_bytes + scratch;
    scratch += RoundUp(elements * ByteWidth(k_.buffers[b].type), 64);
    outside.push_back(b);
  }
  for (kir::Buf b : outside) {
    locals_[b].per_invocation = part.team ? 0 : scratch;
    locals_[b].per_group = part.team ? scratch : scratch * part.group_size;
    dispatch.scratch_per_group = locals_[b].per_group;
    dispatch.most_groups = policy::kMostGroupsWithScratch;
  }
}

// One loop in the other.
static int64_t NestedTrips(std::initializer_list<int64_t> counts) {
  int64_t trips = 0, together = 1;
  for (int64_t n : counts) {
    together = Times(together, n);
    trips = Plus(trips, together);
  }
  return trips;
}

int64_t KernelEmitter::Trips(const Part& part, const Stage& stage) const {
  const auto extent = [&](DimId d) { return k_.dims[d].extent.is_param() ? kAnyExtent : k_.dims[d].extent.baked; };
  int64_t parallel = 1, serial = 1, around = 1, last = 1, width = 0;
  for (DimId d : stage.dims) {
    if (std::find(part.grid.begin(), part.grid.end(), d) != part.grid.end()) continue;
    if (k_.dims[d].kind == DimKind::kParallel) parallel = Times(parallel, extent(d));
    if (k_.dims[d].kind == DimKind::kSerial) serial = Times(serial, extent(d));
    if (k_.dims[d].kind != DimKind::kReduce) continue;
    around = Times(around, last);
    last = extent(d);
  }
  if (const MatrixSum* matrix = MatrixSumOf(stage); matrix != nullptr && part.team)
    return MatrixTrips(*matrix, Times(around, last), part.group_size);
  bool in_order = false;
  for (const kir::Reduce& r : stage.reduces) {
    if (r.order == kir::ReduceOrder::kLanes) {
      width = std::max(width, Lanes(r));
    } else {
      in_order = true;
    }
  }
  int64_t reduce = 0;
  if (in_order || width > part.group_size) reduce = NestedTrips({around, last});
  if (width > 0 && part.team && width <= part.group_size) {
    reduce = Plus(reduce, NestedTrips({around, last / width + 1}));
  } else if (width > 0) {
    reduce = Plus(reduce, Plus(2 * width, Times(width, NestedTrips({around, last / width + 1}))));
  }
  if (part.team && stage.reduces.empty()) parallel = parallel / part.group_size + 1;
  return NestedTrips({parallel, serial, Plus(1, reduce)});
}

int64_t KernelEmitter::Trips(const Part& part, std::span<const kir::Step> steps) const {
  int64_t trips = 0;
  for (const kir::Step& step : steps) {
    if (const auto* stage = std::get_if<Stage>(&step.is)) {
      trips = Plus(trips, Trips(part, *stage));
      continue;
    }
    const auto& loop = std::get<kir::Loop>(step.is);
    if (loop.condition != kir::kNone) return INT64_MAX;
    const int64_t rounds = loop.trip_count.is_param() ? kAnyExtent : loop.trip_count.baked;
    trips = Plus(trips, NestedTrips({rounds, Plus(1, Trips(part, loop.body))}));
  }
  return trips;
}

int64_t KernelEmitter::Trips(const Part& part) const {
  int64_t in_order = 1;
  for (DimId d = 0; d < k_.outer; ++d) {
    if (k_.dims[d].kind == DimKind::kParallel) continue;
    in_order = Times(in_order, k_.dims[d].extent.is_param() ? kAnyExtent : k_.dims[d].extent.baked);
  }
  int64_t trips = 0;
  for (const kir::Step* step : part.steps) trips = Plus(trips, Trips(part, std::span(step, 1)));
  return Times(part.points_together, NestedTrips({in_order, trips}));
}

Result<Module> KernelEmitter::Run() {
  TENON_RETURN_IF_ERROR(Check());
  Module module;
  if (!matrix_sums_.empty()) w_.UseVulkanMemoryModel();
  const std::vector<Part> parts = MakeParts();
  std::vector<Touched> touched;
  for (const Part& part : parts) touched.push_back(TouchedBy(part));
  PlaceShared(touched, module);
  Touched since;  // the last barrier
  const auto meet = [](const std::set<kir::Buf>& a, const std::set<kir::Buf>& b) {
    return std::any_of(a.begin(), a.end(), [&](kir::Buf x) { return b.contains(x); });
  };
  for (size_t i = 0; i < parts.size() && !failed(); ++i) {
    const Touched& t = touched[i];
    bool barrier = meet(t.reads, since.writes) || meet(t.writes, since.writes) || meet(t.writes, since.reads);
    for (uint32_t id : t.uses) barrier |= since.defines.contains(id);
    if (barrier) since = {};
    since.reads.insert(t.reads.begin(), t.reads.end());
    since.writes.insert(t.writes.begin(), t.writes.end());
    since.defines.insert(t.defines.begin(), t.defines.end());
    if (const int64_t most = target_.device.most_trips; most > 0 && Trips(parts[i]) > most) {
      return Unimplemented(
          fmt::format("an invocation may run loops of more than {} rounds, where the driver leaves them", most));
    }
    EmitPart(parts[i], t, i, barrier, module);
  }
  TENON_RETURN_IF_ERROR(s_.status());
  if (const auto words = static_cast<int64_t>(w_.function_words()); words > policy::kMostWords) {
    return Unimplemented(fmt::format("the kernel takes {} words, at most {} are emitted", words, policy::kMostWords));
  }
  const target::DeviceFacts& device = target_.device;
  w_.FloatMode(spv::CapabilityDenormPreserve, spv::ModeDenormPreserve, device.may_keep_subnormals);
  w_.FloatMode(spv::CapabilitySignedZeroInfNanPreserve, spv::ModeSignedZeroInfNanPreserve,
               device.may_keep_nan_and_zeros);
  w_.FloatMode(spv::CapabilityRoundingModeRTE, spv::ModeRoundingModeRTE, device.may_round_to_even);
  module.words = w_.Finish();
  module.needs_alignment = needs_alignment_;
  return module;
}

void KernelEmitter::EmitPart(const Part& part, const Touched& touched, size_t number, bool after_barrier,
                             Module& module) {
  Dispatch& dispatch = module.dispatches.emplace_back();
  dispatch.entry = fmt::format("part{}", number);
  dispatch.group_size = static_cast<uint32_t>(part.group_size);
  dispatch.points_per_group = part.team ? 1 : part.group_size * part.points_together;
  dispatch.most_groups = policy::kMostGroups;
  dispatch.after_barrier = after_barrier;
  for (DimId d : part.grid) {
    Count::Side side;
    side.extent = k_.dims[d].extent;
    if (part.stage != nullptr) {
      for (const kir::Range& r : part.stage->domain) {
        if (r.dim == d) {
          side.lo = r.lo;
          side.hi = r.hi;
        }
      }
      if (part.wide == d) {
        const int64_t places = side.extent.baked;
        const int64_t count = std::min(side.hi.baked, places) - std::max<int64_t>(side.lo.baked, 0);
        side = {kir::Size::Of(0), kir::Size::Of(count / kWide), kir::Size::Of(count / kWide)};
      }
    }
    dispatch.points.sides.push_back(side);
  }
  part_ = &part;
  defined_ = touched.defines;
  results_.clear();
  words_.clear();
  scope_ = 0;
  for (DimId d = 0; d < k_.outer; ++d) scope_ |= kir::DimMask{1} << d;
  for (DimId d : part.grid) scope_ |= kir::DimMask{1} << d;

  std::vector<Id> none;
  const Id function = w_.BeginFunction(w_.Void(), {}, &none);
  for (Local& local : locals_) local.words = 0;
  PlaceLocals(part, touched, module, dispatch);
  DimList in_order;
  for (DimId d = 0; d < k_.outer; ++d) {
    if (k_.dims[d].kind != DimKind::kParallel) in_order.push_back(d);
  }
  ForEachPoint(part, dispatch, [&] { ForDims(in_order, 0, {}, [&] { EmitSeq(part.steps, !in_order.empty()); }); });
  w_.EndFunction(0);
  w_.EntryPoint(function, dispatch.entry, dispatch.group_size);
  if (local_bytes_ > target_.device.local_bytes) {
    Fail(Unimplemented(fmt::format("the kernel needs {} bytes of local memory, the device has {}", local_bytes_,
                                   target_.device.local_bytes)));
  }
}

void KernelEmitter::ForEachPoint(const Part& part, const Dispatch& dispatch, const std::function<void()>& body) {
  if (part.grid.empty()) {
    body();
    LeaveResults(part);
    return;
  }
  stage_ = part.stage;
  std::optional<int64_t> known = 1;
  Id total = 0;
  for (DimId d : part.grid) {
    Bounds b = BoundsOf(d);
    if (part.wide == d) {
      b.hi = (*b.hi - *b.lo) / kWide;
      b.lo = 0;
    }
    if (known && b.lo && b.hi) {
      known = *known * std::max<int64_t>(0, *b.hi - *b.lo);
      // structural: points are counted in 32 bits
      if (*known > INT32_MAX) return Fail(Unimplemented("a launch of more points than 32 bits count"));
    } else {
      known = std::nullopt;
    }
    const Id length = Length(b);
    total = total == 0 ? length : w_.Do(Spv::IMul, w_.U32(), {total, length});
  }
  if (known) total = w_.C32(static_cast<uint32_t>(*known));
  const auto at_point = [&](Id point) {
    const size_t mark = Mark();
    stage_ = part.stage;
    if (part.wide) {
      BindWide(part.grid, point);
    } else {
      BindFlat(part.grid, point);
    }
    stage_ = nullptr;
    body();
    for (DimId d : part.grid) dim_value_[d] = 0;
    Rewind(mark);
  };
  const Id share_size = w_.C32(static_cast<uint32_t>(dispatch.points_per_group));
  const auto at_share = [&](Id share) {
    if (part.team) return at_point(share);
    const Id from = w_.Do(Spv::IMul, w_.U32(), {share, share_size});
    const Id first = w_.Do(Spv::IAdd, w_.U32(), {from, LocalIndex()});
    if (part.points_together == 1) {
      w_.If(s_.Compare(Spv::ULessThan, first, total), [&] { at_point(first); });
      return;
    }
    const bool whole = known && *known % dispatch.points_per_group == 0;
    for (int64_t i = 0; i < part.points_together; ++i) {
      const Id point = w_.Do(Spv::IAdd, w_.U32(), {first, w_.C32(static_cast<uint32_t>(i * part.group_size))});
      if (whole) {
        at_point(point);
      } else {
        w_.If(s_.Compare(Spv::ULessThan, point, total), [&] { at_point(point); });
      }
    }
  };
  // structural: what a launch takes along x
  constexpr int64_t kMostAlong = 65535;
  const int64_t shares = known ? (*known + dispatch.points_per_group - 1) / dispatch.points_per_group : INT64_MAX;
  if (shares <= std::min(dispatch.most_groups, kMostAlong)) {
    at_share(GroupIndex());
  } else {
    const Id whole = w_.Do(Spv::IAdd, w_.U32(), {total, w_.C32(static_cast<uint32_t>(dispatch.points_per_group - 1))});
    const Id count = w_.Do(Spv::UDiv, w_.U32(), {whole, share_size});
    if (shares <= dispatch.most_groups) {
      w_.If(s_.Compare(Spv::ULessThan, GroupIndex(), count), [&] { at_share(GroupIndex()); });
    } else {
      w_.For(GroupIndex(), count, GroupCount(), [&](Id share) {
        at_share(share);
        if (part.team) w_.Barrier();
      });
    }
  }
}

void KernelEmitter::LeaveResults(const Part& part) {
  const auto leave = [&] {
    for (const auto& [key, place] : crossing_) {
      if (!defined_.contains(key.first)) continue;
      const auto found = results_.find(key.first);
      if (found == results_.end()) continue;
      const Id value = found->second[key.second];
      const DType type = ResultType(key.first, key.second);
      if (type == DType::kInvalid) continue;
      const Id word = s_.LocalType(type);
      const int64_t bytes = Scalars::RegisterBits(type) == 64 ? 8 : 4;
      const Id pointer = w_.Do(Spv::AccessChain, w_.Pointer(spv::StoragePhysicalStorageBuffer, word),
                               {Scratch(word, bytes, 0), w_.C32(0), w_.C32(static_cast<uint32_t>(place / bytes))});
      w_.Store(pointer, s_.ToLocal(type, value), static_cast<uint32_t>(bytes));
    }
  };
  if (crossing_.empty()) return;
  if (part.team) {
    w_.If(IsFirst(), leave);
  } else {
    leave();
  }
}

DType KernelEmitter::ResultType(uint32_t id, uint8_t result) const {
  for (const kir::Node& node : k_.nodes) {
    if ((node.op == kir::Op::kReduced || node.op == kir::Op::kCarried) && node.attr == id && node.imm == result) {
      return node.type;
    }
  }
  return DType::kInvalid;  // nobody asks for it
}

}  // namespace tenon::emit_spirv
