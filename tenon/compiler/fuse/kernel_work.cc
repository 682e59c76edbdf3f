#include "tenon/compiler/fuse/kernel_work.h"

#include <algorithm>
#include <variant>
#include <vector>

#include "tenon/compiler/fuse/kernel_walk.h"
#include "tenon/compiler/fuse/lane_cost.h"

namespace tenon::compiler {
namespace {

/// Points that any stage runs over, those of stages in loops once.
double PointsOf(const kir::Kernel& k, const kir::Seq& seq) {
  double points = 0;
  for (const kir::Step& step : seq) {
    if (const auto* loop = std::get_if<kir::Loop>(&step.is)) {
      points += PointsOf(k, loop->body);
      continue;
    }
    const auto& stage = std::get<kir::Stage>(step.is);
    double here = 1;
    for (size_t d = 0; d < k.outer; ++d) here *= static_cast<double>(k.dims[d].extent.baked);
    for (kir::DimId d : stage.dims) here *= static_cast<double>(ExtentIn(k, stage, d));
    points += here;
  }
  return points;
}

}  // namespace

target::Work KernelWork(const kir::Kernel& k, const target::Target& target) {
  target::Work work;
  work.launches = 1;
  const double points = PointsOf(k, k.seq);
  // A point may access a buffer several times: what dims that are written out had been.
  std::vector<int64_t> reads(k.buffers.size(), 0), stores(k.buffers.size(), 0);
  for (const kir::Node& n : k.nodes) {
    if (n.op == kir::Op::kRead) ++reads[k.reads[n.attr].buf];
  }
  ForEachStage(k.seq, [&](const kir::Stage& stage) {
    for (const kir::Store& s : stage.stores) ++stores[s.buf];
  });
  for (size_t i = 0; i < k.buffers.size(); ++i) {
    const kir::Buffer& b = k.buffers[i];
    if (b.kind == kir::BufKind::kLocal) continue;
    double size = ByteWidth(b.type);
    for (const kir::Size& s : b.extent) size *= static_cast<double>(s.baked);
    const bool out = b.kind == kir::BufKind::kOut;
    const auto accesses = static_cast<double>(std::max<int64_t>(1, out ? stores[i] : reads[i]));
    (out ? work.bytes_written : work.bytes_read) += std::min(size, points * accesses * ByteWidth(b.type));
  }
  const bool loops = std::any_of(k.seq.begin(), k.seq.end(),
                                 [](const kir::Step& step) { return std::holds_alternative<kir::Loop>(step.is); });
  if (loops) {  // Whoever makes such a kernel knows the trips.
    for (const kir::Node& n : k.nodes) work.ops += points * target.costs.Of(n);
  } else {
    work.ops = LaneCostOf(k, target, {.by_row = PointsStayApart(k)}).cycles * static_cast<double>(target.vector_bytes) /
               sizeof(float);
  }
  return work;
}

}  // namespace tenon::compiler
