#pragma once

/// What nodes depend on. Requires that all indices in the kernel are in range and that inputs come before their users.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "tenon/kir/kir.h"
#include "tenon/kir/walk.h"

namespace tenon::kir::internal {

/// Where the reduces and loops of a kernel are.
struct Definition {
  const Stage* stage = nullptr;
  const Reduce* reduce = nullptr;  ///< Either this, in `stage`,
  const Loop* loop = nullptr;      ///< or this.
};

/// Calls fn(Definition, id) for each reduce and loop in the order of the text, loops before their bodies.
template <class Fn>
void ForEachDefinition(const Seq& seq, Fn fn) {
  for (const Step& step : seq) {
    if (const auto* stage = std::get_if<Stage>(&step.is)) {
      for (const Reduce& r : stage->reduces) fn(Definition{stage, &r, nullptr}, r.id);
    } else {
      const Loop& loop = std::get<Loop>(step.is);
      fn(Definition{nullptr, nullptr, &loop}, loop.id);
      ForEachDefinition(loop.body, fn);
    }
  }
}

DimMask OuterDims(const Kernel& kernel);
DimMask MaskOf(const SmallVector<DimId, 4>& dims);

class Analysis {
 public:
  explicit Analysis(const Kernel& kernel);

  /// As DependentDims.
  const std::vector<DimMask>& dims() const { return dims_; }
  DimMask dims(const Axis& axis) const;
  /// Whether node `v` uses kReduced or kCarried nodes of `id`, itself or through its inputs (not through what those
  /// stand for).
  bool Uses(Val v, uint32_t id) const;
  /// All ids that node `v` uses so.
  std::vector<uint32_t> UsedIds(Val v) const;
  /// Whether the value, an index or a guard of `store` uses `id`.
  bool Uses(const Store& store, uint32_t id) const;

 private:
  std::unordered_map<uint32_t, size_t> index_of_id_;
  std::vector<uint32_t> ids_;
  std::vector<DimMask> dims_;
  std::vector<uint64_t> uses_;  // `words_` words per node: a set of indices into ids_
  size_t words_ = 0;
};

}  // namespace tenon::kir::internal
