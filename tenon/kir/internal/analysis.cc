#include "tenon/kir/internal/analysis.h"

namespace tenon::kir {
namespace internal {

DimMask OuterDims(const Kernel& kernel) { return kernel.outer >= 32 ? ~DimMask{0} : (DimMask{1} << kernel.outer) - 1; }

DimMask MaskOf(const SmallVector<DimId, 4>& dims) {
  DimMask mask = 0;
  for (DimId d : dims) mask |= DimMask{1} << d;
  return mask;
}

Analysis::Analysis(const Kernel& kernel) {
  std::unordered_map<uint32_t, Definition> definitions;
  ForEachDefinition(kernel.seq, [&](const Definition& d, uint32_t id) {
    if (definitions.emplace(id, d).second) {
      index_of_id_.emplace(id, ids_.size());
      ids_.push_back(id);
    }
  });
  DimMask serial = 0;
  for (size_t i = 0; i < kernel.dims.size(); ++i) {
    if (kernel.dims[i].kind == DimKind::kSerial) serial |= DimMask{1} << i;
  }
  words_ = (ids_.size() + 63) / 64;
  dims_.resize(kernel.nodes.size());
  uses_.resize(kernel.nodes.size() * words_);

  for (Val v = 0; v < kernel.nodes.size(); ++v) {
    const Node& node = kernel.nodes[v];
    DimMask mask = 0;
    ForEachInput(kernel, node, [&](Val in) {
      mask |= dims_[in];
      for (size_t w = 0; w < words_; ++w) uses_[v * words_ + w] |= uses_[in * words_ + w];
    });
    if (node.op == Op::kIndex) mask |= DimMask{1} << node.attr;
    if (node.op == Op::kRead) {
      const Read& read = kernel.reads[node.attr];
      for (const Axis& a : read.at) mask |= dims(a);
      for (const Guard& g : read.guard) mask |= dims(g.e);
      const BufKind kind = kernel.buffers[read.buf].kind;
      if (kind != BufKind::kArg && kind != BufKind::kConst) mask |= OuterDims(kernel) | serial;
    }
    if (node.op == Op::kReduced || node.op == Op::kCarried) {
      const auto found = definitions.find(node.attr);
      if (found != definitions.end()) {
        const size_t i = index_of_id_.at(node.attr);
        uses_[v * words_ + i / 64] |= uint64_t{1} << (i % 64);
        if (const Reduce* r = found->second.reduce) {
          for (Val in : r->in) mask |= dims_[in];
          mask &= ~r->dims;
          for (Val in : r->init) mask |= dims_[in];
        }
      }
      if (node.op == Op::kCarried) mask |= OuterDims(kernel);
    }
    dims_[v] = mask;
  }
}

DimMask Analysis::dims(const Axis& axis) const {
  DimMask mask = axis.start == kNone ? 0 : dims_[axis.start];
  for (const Term& t : axis.terms) mask |= DimMask{1} << t.dim;
  return mask;
}

bool Analysis::Uses(Val v, uint32_t id) const {
  const auto found = index_of_id_.find(id);
  if (found == index_of_id_.end()) return false;
  return uses_[v * words_ + found->second / 64] >> (found->second % 64) & 1;
}

std::vector<uint32_t> Analysis::UsedIds(Val v) const {
  std::vector<uint32_t> used;
  for (size_t i = 0; i < ids_.size(); ++i) {
    if (uses_[v * words_ + i / 64] >> (i % 64) & 1) used.push_back(ids_[i]);
  }
  return used;
}

bool Analysis::Uses(const Store& store, uint32_t id) const {
  bool uses = false;
  ForEachRoot(store, [&](Val v) { uses |= Uses(v, id); });
  return uses;
}

}  // namespace internal

std::vector<DimMask> DependentDims(const Kernel& kernel) { return internal::Analysis(kernel).dims(); }

SmallVector<DimId, 4> StageCuts(const Kernel& kernel) {
  SmallVector<DimId, 4> cuts;
  if (kernel.outer != 0 || kernel.split.dims != 1) return cuts;
  for (const Step& step : kernel.seq) {
    const auto* stage = std::get_if<Stage>(&step.is);
    if (stage == nullptr || stage->dims.empty()) return {};
    if (std::ranges::find(cuts, stage->dims[0]) == cuts.end()) cuts.push_back(stage->dims[0]);
  }
  std::ranges::sort(cuts);
  return cuts.size() > 1 ? cuts : SmallVector<DimId, 4>();
}

int64_t SplitTotal(const Kernel& kernel, const int64_t* params) {
  int64_t total = 1;
  if (const auto cuts = StageCuts(kernel); !cuts.empty()) {
    for (DimId d : cuts) total = std::max(total, kernel.dims[d].extent.Value(params));
    return total;
  }
  for (size_t i = 0; i < kernel.dims.size(); ++i) {
    if (kernel.split.dims >> i & 1) total *= kernel.dims[i].extent.Value(params);
  }
  return total;
}

int64_t NumPieces(const Kernel& kernel, const int64_t* params) {
  if (kernel.split.dims == 0) return 1;
  const int64_t grain = kernel.split.grain.Value(params);
  return grain <= 0 ? 0 : (SplitTotal(kernel, params) + grain - 1) / grain;
}

int64_t LocalBytes(const Kernel& kernel, const int64_t* params) {
  int64_t bytes = 0;
  for (const Buffer& b : kernel.buffers) {
    if (b.kind != BufKind::kLocal) continue;
    int64_t last = 0;
    bool empty = false;
    for (size_t i = 0; i < b.extent.size(); ++i) {
      const int64_t extent = b.extent[i].Value(params);
      empty |= extent <= 0;
      last += (extent - 1) * b.stride[i].Value(params);
    }
    if (!empty) bytes += ((last + 1) * ByteWidth(b.type) + 63) / 64 * 64;
  }
  return bytes;
}

}  // namespace tenon::kir
