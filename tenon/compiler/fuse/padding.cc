#include "tenon/compiler/fuse/padding.h"

#include <utility>
#include <vector>

namespace tenon::compiler {
namespace {

// A dim's elements, the holes that each has beside it (the last one may have none), and the places [begin, end) that
// these fill.
struct Filled {
  PaddedDim elements;
  PaddedDim holes;
  int64_t begin = 0;
  int64_t end = 0;
};

Filled FilledBy(int64_t count, int64_t whole, int64_t low, int64_t step) {
  const int64_t last = low + (count - 1) * step;
  const PaddedDim elements{.count = count, .place = low, .step = step};
  Filled filled{elements, elements, low, last + 1};
  filled.holes.from = 1;
  filled.holes.until = step - 1;
  if (whole - filled.end >= step - 1) {
    filled.end += step - 1;
  } else if (low >= step - 1) {
    filled.begin -= step - 1;
    filled.holes.from = 1 - step;
    filled.holes.until = -1;
  } else {
    --filled.holes.count;
  }
  return filled;
}

}  // namespace

int64_t PaddedStage::stores() const {
  int64_t stores = 1;
  for (const PaddedDim& d : dims) stores *= d.until - d.from + 1;
  return stores;
}

std::vector<PaddedStage> StagesOfPad(const Dims& from, const Dims& to, const PadAttrs& pad) {
  const size_t rank = from.size();
  std::vector<Filled> filled;
  size_t beside = rank;  // The last dim with holes.
  for (size_t d = 0; d < rank; ++d) {
    const int64_t low = pad.edge_padding_low[d], step = from[d] > 1 ? pad.interior_padding[d] + 1 : 1;
    if (low < 0 || low + (from[d] - 1) * step >= to[d]) return {};
    filled.push_back(FilledBy(from[d], to[d], low, step));
    if (step > 1) beside = d;
  }
  PaddedStage elements{.has_elements = true, .dims = {}};
  std::vector<PaddedStage> padding;
  PaddedStage before;  // What the dims so far fill.
  const auto add_padding = [&](PaddedStage stage, const PaddedDim& dim, bool whole_rows) {
    stage.has_elements = false;
    stage.dims.push_back(dim);
    for (size_t d = stage.dims.size(); d < rank; ++d) {
      const Filled& f = filled[d];
      stage.dims.push_back(whole_rows ? PaddedDim{.count = to[d]}
                                      : PaddedDim{.count = f.end - f.begin, .place = f.begin});
    }
    padding.push_back(std::move(stage));
  };
  for (size_t d = 0; d < rank; ++d) {
    const Filled& f = filled[d];
    if (f.begin > 0) add_padding(before, {.count = f.begin}, true);
    if (f.end < to[d]) add_padding(before, {.count = to[d] - f.end, .place = f.end}, true);
    before.dims.push_back({.count = f.end - f.begin, .place = f.begin});
    if (d < beside && f.holes.from <= f.holes.until) add_padding(elements, f.holes, false);
    elements.dims.push_back(f.elements);
  }
  std::vector<PaddedStage> stages{elements};
  if (beside < rank) {
    const auto& [all, holes, begin, end] = filled[beside];
    PaddedDim& run = stages[0].dims[beside];
    run = holes;
    (holes.from > 0 ? run.from : run.until) = 0;
    if (holes.count < all.count) {
      stages.push_back(elements);
      stages[1].dims[beside] = {.count = 1, .place = end - 1, .step = all.step, .first = all.count - 1};
    }
  }
  stages.insert(stages.end(), padding.begin(), padding.end());
  return stages;
}

}  // namespace tenon::compiler
