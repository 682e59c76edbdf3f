// Padded arrays, and what slices take of them.

#include <algorithm>

#include "tenon/compiler/simplify/simplifier.h"

namespace tenon::compiler {
namespace {

bool AllZero(const Dims& list) {
  return std::all_of(list.begin(), list.end(), [](int64_t n) { return n == 0; });
}

// How far neighbouring elements are apart; single ones have none, whatever the padding says.
int64_t ApartOf(int64_t extent, int64_t interior) { return extent < 2 ? 1 : interior + 1; }

// What a slice takes of a padded array along one dim: `low` elements of padding, then `count` of the operand's, every
// `stride`-th there from `start` on and `interior` of padding apart here, then `high` of padding.
struct Crop {
  int64_t low = 0, high = 0, interior = 0;
  int64_t start = 0, stride = 1, count = 0;
};

// Of `extent` elements with `low` of padding before and `interior` between them, those of the slice at `start`,
// `stride` apart, `count` in all. Nothing where neither of the two distances is a multiple of the other.
std::optional<Crop> CropOf(int64_t extent, int64_t low, int64_t interior, int64_t start, int64_t stride,
                           int64_t count) {
  const auto ceil_div = [](int64_t a, int64_t b) { return a <= 0 ? 0 : (a - 1) / b + 1; };
  if (count == 1) stride = 1;
  int64_t apart = ApartOf(extent, interior), first = start - low;
  const int64_t unit = std::min(apart, stride);
  if (apart % unit != 0 || stride % unit != 0) return std::nullopt;
  if (first % unit != 0) return Crop{.low = count};
  apart /= unit, stride /= unit, first /= unit;
  // Place i of the slice is element e where first + i * stride = e * apart, and one of the two factors is 1.
  if (apart == 1) {
    const int64_t from = ceil_div(-first, stride), to = std::min(count, ceil_div(extent - first, stride));
    if (from >= to) return Crop{.low = count};
    return Crop{.low = from, .high = count - to, .start = first + from * stride, .stride = stride, .count = to - from};
  }
  const int64_t from = ceil_div(first, apart), to = std::min(extent, ceil_div(first + count, apart));
  if (from >= to) return Crop{.low = count};
  return Crop{.low = from * apart - first,
              .high = first + count - 1 - (to - 1) * apart,
              .interior = apart - 1,
              .start = from,
              .count = to - from};
}

}  // namespace

std::optional<Ref> Simplifier::CroppedPad(const GraphNode& pad, const SliceAttrs& at, const Shape& shape) {
  const auto& [edge_low, edge_high, between] = pad.attrs<PadAttrs>();
  const Ref operand = pad.in[0], value = pad.in[1];
  Dims low, high, interior, start, stride, count;
  for (size_t i = 0; i < shape.rank(); ++i) {
    const std::optional<Crop> crop =
        CropOf(ShapeOf(operand).dims[i], edge_low[i], between[i], at.start_indices[i], at.strides[i], shape.dims[i]);
    if (!crop) return std::nullopt;
    if (crop->count == 0) return Spread(value, shape);
    low.push_back(crop->low);
    high.push_back(crop->high);
    interior.push_back(crop->interior);
    start.push_back(crop->start);
    stride.push_back(crop->stride);
    count.push_back(crop->count);
  }
  return Padded(StridedSlice(operand, start, stride, count), value, low, high, interior);
}

std::optional<Ref> Simplifier::PadNothing(const GraphNode& node) {
  const auto& [low, high, interior] = node.attrs<PadAttrs>();
  if (ShapeOf(node.in[0]) == node.shape() && AllZero(low) && AllZero(high)) return node.in[0];
  return std::nullopt;
}

std::optional<Ref> Simplifier::PadOfNothing(const GraphNode& node) {
  if (NumElements(ShapeOf(node.in[0]).dims) == 0) return Spread(node.in[1], node.shape());
  return std::nullopt;
}

std::optional<Ref> Simplifier::PadNegative(const GraphNode& node) {
  const auto& [low, high, interior] = node.attrs<PadAttrs>();
  const auto negative = [](int64_t n) { return n < 0; };
  if (std::none_of(low.begin(), low.end(), negative) && std::none_of(high.begin(), high.end(), negative))
    return std::nullopt;
  const Shape& shape = node.shape();
  const Dims ones(shape.rank(), 1);
  return CroppedPad(node, {Dims(shape.rank(), 0), shape.dims, ones}, shape);
}

std::optional<Ref> Simplifier::PadOfPad(const GraphNode& node) {
  const GraphNode& inner = Def(node.in[0]);
  if (inner.op != OpCode::kPad || inner.in[1] != node.in[1]) return std::nullopt;
  const auto& [inner_low, inner_high, inner_interior] = inner.attrs<PadAttrs>();
  auto [low, high, interior] = node.attrs<PadAttrs>();
  for (size_t i = 0; i < low.size(); ++i) {
    const int64_t apart = ApartOf(inner.shape().dims[i], interior[i]);
    low[i] += inner_low[i] * apart;
    high[i] += inner_high[i] * apart;
    interior[i] = ApartOf(ShapeOf(inner.in[0]).dims[i], inner_interior[i]) * apart - 1;
  }
  return Padded(inner.in[0], node.in[1], low, high, interior);
}

std::optional<Ref> Simplifier::SliceOfPad(const GraphNode& node) {
  const GraphNode& pad = Def(node.in[0]);
  // Neighbouring slices of one array, as stencils have them, share its padding.
  if (pad.op != OpCode::kPad || !cropped_pads_.contains(node.in[0].node)) return std::nullopt;
  return CroppedPad(GraphNode(pad), node.attrs<SliceAttrs>(), node.shape());
}

}  // namespace tenon::compiler
