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

/// What one point moves of a buffer by several accesses: dims that are written out make several of one.
class Traffic {
 public:
  Traffic(const kir::Kernel& k, kir::Buf buf, const target::Target& target)
      : k_(k),
        buffer_(k.buffers[buf]),
        width_(ByteWidth(buffer_.type)),
        line_(target.caches.empty() ? width_ : static_cast<double>(target.caches[0].line_bytes)) {}

  void Add(const SmallVector<kir::Axis, 4>& at) {
    std::vector<int64_t> moves = MovesOf(k_, buffer_, at);
    const int64_t offset = OffsetOf(at, buffer_);
    auto set = std::ranges::find(sets_, moves, &Set::moves);
    if (set == sets_.end()) set = sets_.insert(sets_.end(), {.moves = std::move(moves), .low = offset, .high = offset});
    set->low = std::min(set->low, offset);
    set->high = std::max(set->high, offset);
    ++set->accesses;
  }

  /// Where neighbours lie apart, what lies between them comes along, up to a line; what accesses do not differ by more
  /// than that they share.
  double BytesOfPoint() const {
    double bytes = 0;
    for (const Set& set : sets_) {
      double apart = line_;
      bool moves = false;
      for (const int64_t move : set.moves) {
        if (move == 0) continue;
        moves = true;
        apart = std::min(apart, static_cast<double>(std::abs(move)) * width_);
      }
      const double one = moves ? std::max(apart, width_) : width_;
      bytes += std::min(set.accesses * one, static_cast<double>(set.high - set.low) * width_ + std::max(line_, one));
    }
    return std::max(bytes, width_);
  }

 private:
  struct Set {
    std::vector<int64_t> moves;
    int64_t low = 0, high = 0;
    double accesses = 0;
  };
  const kir::Kernel& k_;
  const kir::Buffer& buffer_;
  const double width_, line_;
  std::vector<Set> sets_;
};

}  // namespace

target::Work KernelWork(const kir::Kernel& k, const target::Target& target) {
  target::Work work;
  work.launches = 1;
  const double points = PointsOf(k, k.seq);
  std::vector<Traffic> reads, stores;
  for (kir::Buf buf = 0; buf < k.buffers.size(); ++buf) {
    reads.emplace_back(k, buf, target);
    stores.emplace_back(k, buf, target);
  }
  for (const kir::Node& n : k.nodes) {
    if (n.op == kir::Op::kRead) reads[k.reads[n.attr].buf].Add(k.reads[n.attr].at);
  }
  ForEachStage(k.seq, [&](const kir::Stage& stage) {
    for (const kir::Store& s : stage.stores) stores[s.buf].Add(s.at);
  });
  for (size_t i = 0; i < k.buffers.size(); ++i) {
    const kir::Buffer& b = k.buffers[i];
    if (b.kind == kir::BufKind::kLocal) continue;
    double size = ByteWidth(b.type);
    for (const kir::Size& s : b.extent) size *= static_cast<double>(s.baked);
    const bool out = b.kind == kir::BufKind::kOut;
    (out ? work.bytes_written : work.bytes_read) +=
        std::min(size, points * (out ? stores[i] : reads[i]).BytesOfPoint());
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
