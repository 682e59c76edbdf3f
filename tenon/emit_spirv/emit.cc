#include "tenon/emit_spirv/emit.h"

#include <algorithm>

#include "tenon/emit_spirv/internal/kernel_emitter.h"

namespace tenon::emit_spirv {
namespace {

/// Workgroups of a launch along one direction, on every device.
constexpr int64_t kMostAlong = 65535;

void BakeSize(kir::Size& s, std::span<const int64_t> params) { s = kir::Size::Of(s.Value(params.data())); }

void BakeAxis(kir::Axis& axis, std::span<const int64_t> params) {
  for (kir::Term& t : axis.terms) BakeSize(t.coef, params);
  BakeSize(axis.offset, params);
}

template <class Access>
void BakeAccess(Access& access, std::span<const int64_t> params) {
  for (kir::Axis& a : access.at) BakeAxis(a, params);
  for (kir::Guard& g : access.guard) {
    BakeAxis(g.e, params);
    BakeSize(g.lo, params);
    BakeSize(g.hi, params);
  }
}

void BakeSeq(kir::Seq& seq, std::span<const int64_t> params) {
  for (kir::Step& step : seq) {
    if (auto* stage = std::get_if<kir::Stage>(&step.is)) {
      for (kir::Range& r : stage->domain) {
        BakeSize(r.lo, params);
        BakeSize(r.hi, params);
      }
      for (kir::Store& s : stage->stores) BakeAccess(s, params);
    } else {
      auto& loop = std::get<kir::Loop>(step.is);
      BakeSize(loop.trip_count, params);
      BakeSeq(loop.body, params);
    }
  }
}

}  // namespace

int64_t Count::Of(const int64_t* params) const {
  int64_t count = 1;
  for (const Side& s : sides) {
    const int64_t lo = std::max<int64_t>(0, s.lo.Value(params));
    const int64_t hi = std::min(s.hi.Value(params), s.extent.Value(params));
    count *= std::max<int64_t>(0, hi - lo);
  }
  return count;
}

int64_t Dispatch::Groups(const int64_t* params) const {
  const int64_t count = points.Of(params);
  return std::min(most_groups, (count + points_per_group - 1) / points_per_group);
}

std::array<uint32_t, 3> Dispatch::GroupsByDirection(const int64_t* params) const {
  const int64_t groups = Groups(params);
  if (groups <= kMostAlong) return {static_cast<uint32_t>(groups), 1, 1};
  const int64_t rows = (groups + kMostAlong - 1) / kMostAlong;
  return {static_cast<uint32_t>((groups + rows - 1) / rows), static_cast<uint32_t>(rows), 1};
}

int64_t Module::ScratchBytes(const int64_t* params) const {
  int64_t most = 0;
  for (const Dispatch& d : dispatches) {
    if (d.scratch_per_group > 0) most = std::max(most, d.scratch_per_group * d.Groups(params));
  }
  return scratch_bytes + most;
}

kir::Kernel Bake(const kir::Kernel& kernel, std::span<const int64_t> params) {
  kir::Kernel k = kernel;
  for (kir::Dim& d : k.dims) BakeSize(d.extent, params);
  for (kir::Buffer& b : k.buffers) {
    for (kir::Size& s : b.extent) BakeSize(s, params);
    for (kir::Size& s : b.stride) BakeSize(s, params);
  }
  for (kir::Read& r : k.reads) BakeAccess(r, params);
  BakeSeq(k.seq, params);
  BakeSize(k.split.grain, params);
  for (kir::Node& node : k.nodes) {
    if (node.op != kir::Op::kParam) continue;
    const auto value = static_cast<uint64_t>(params[node.attr]);
    node.op = kir::Op::kConst;
    const auto found = std::find(k.literals.begin(), k.literals.end(), value);
    node.attr = static_cast<uint32_t>(found - k.literals.begin());
    if (found == k.literals.end()) k.literals.push_back(value);
  }
  k.num_params = 0;
  return k;
}

Result<Module> Emit(const kir::Kernel& kernel, const target::Target& target, Places places) {
  return KernelEmitter(kernel, target, places).Run();
}

}  // namespace tenon::emit_spirv
