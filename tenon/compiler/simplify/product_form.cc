#include "tenon/compiler/simplify/product_form.h"

#include <algorithm>
#include <numeric>

#include "tenon/compiler/ir/combiner.h"

namespace tenon::compiler {
namespace {

/// A factor of a multiplication as what it is spread from: for each of its dims the factor's, or -1.
struct Factor {
  Ref from;
  Dims dim_of;  ///< Of `from`, per dim of the multiplication.
};
std::optional<Factor> FactorOf(const Program& p, Ref r) {
  const GraphNode& node = p[r.node];
  const Shape& shape = p.shape(r);
  Factor factor{r, Dims(shape.rank(), -1)};
  if (node.op != OpCode::kBroadcast) {
    std::iota(factor.dim_of.begin(), factor.dim_of.end(), 0);
    return factor;
  }
  factor.from = node.in[0];
  const Dims& places = node.attrs<BroadcastAttrs>().broadcast_dimensions;
  for (size_t d = 0; d < places.size(); ++d) {
    const auto place = static_cast<size_t>(places[d]);
    if (p.shape(factor.from).dims[d] != shape.dims[place]) return std::nullopt;
    factor.dim_of[place] = static_cast<int64_t>(d);
  }
  return factor;
}

}  // namespace

std::optional<ProductForm> ProductFormOf(const Program& p, Ref value) {
  const GraphNode& node = p[value.node];
  if (node.op == OpCode::kDot) {
    ProductForm form{{node.in[0], node.in[1]}, node.attrs<DotAttrs>(), node.shape(), Dims(node.shape().rank())};
    std::iota(form.permutation.begin(), form.permutation.end(), 0);
    return form;
  }
  Dims summed;
  Ref multiplied = value;
  if (node.op == OpCode::kReduce) {
    if (node.in.size() != 2 || CombinerOp(p, node.blocks[0]) != OpCode::kAdd || !IsZero(p, node.in[1]))
      return std::nullopt;
    summed = node.attrs<ReduceAttrs>().dimensions;
    multiplied = node.in[0];
  }
  const GraphNode& multiply = p[multiplied.node];
  // A sum may be of a wider type than what is summed.
  if (multiply.op != OpCode::kMultiply || multiply.shape().dtype != node.shape().dtype) return std::nullopt;
  const std::optional<Factor> factor[2] = {FactorOf(p, multiply.in[0]), FactorOf(p, multiply.in[1])};
  if (!factor[0] || !factor[1]) return std::nullopt;

  ProductForm form{{factor[0]->from, factor[1]->from}, {}, {multiply.shape().dtype, {}}, {}};
  DotAttrs& numbers = form.numbers;
  // Dims of the multiplication that the dot's result has, in its order: both factors', the first one's, the other's.
  Dims both;
  std::vector<std::pair<int64_t, int64_t>> alone[2];
  for (size_t d = 0; d < multiply.shape().rank(); ++d) {
    const int64_t left = factor[0]->dim_of[d], right = factor[1]->dim_of[d];
    const bool is_summed = std::find(summed.begin(), summed.end(), static_cast<int64_t>(d)) != summed.end();
    if (left >= 0 && right >= 0) {
      (is_summed ? numbers.lhs_contracting_dimensions : numbers.lhs_batching_dimensions).push_back(left);
      (is_summed ? numbers.rhs_contracting_dimensions : numbers.rhs_batching_dimensions).push_back(right);
      if (!is_summed) both.push_back(static_cast<int64_t>(d));
    } else if (is_summed || (left < 0 && right < 0)) {
      return std::nullopt;
    } else {
      alone[left >= 0 ? 0 : 1].push_back({std::max(left, right), static_cast<int64_t>(d)});
    }
  }
  if (alone[0].empty() && alone[1].empty()) return std::nullopt;
  Dims order = both;
  for (auto& dims : alone) {
    std::sort(dims.begin(), dims.end());
    for (const auto& [from, d] : dims) order.push_back(d);
  }
  for (int64_t d : order) form.product.dims.push_back(multiply.shape().dims[static_cast<size_t>(d)]);
  for (size_t d = 0; d < multiply.shape().rank(); ++d) {
    const auto at = std::find(order.begin(), order.end(), static_cast<int64_t>(d));
    if (at != order.end()) form.permutation.push_back(at - order.begin());
  }
  return form;
}

}  // namespace tenon::compiler
