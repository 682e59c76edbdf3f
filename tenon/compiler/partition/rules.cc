#include "tenon/compiler/partition/rules.h"

#include <algorithm>
#include <complex>

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringSet.h"
#include "tenon/compiler/partition/expand.h"
#include "tenon/dialect/stablehlo/dialect.h"
#include "tenon/dialect/stablehlo/element_type.h"

namespace tenon::compiler {
namespace {

mlir::RankedTensorType TypeOf(mlir::Value v) { return mlir::dyn_cast<mlir::RankedTensorType>(v.getType()); }

int64_t RankOf(mlir::Value v) {
  auto type = TypeOf(v);
  return type ? type.getRank() : 0;
}
int64_t SizeOf(mlir::Value v, int64_t dim) { return TypeOf(v).getDimSize(static_cast<unsigned>(dim)); }

std::vector<int64_t> Numbers(mlir::Operation* op, llvm::StringRef name) {
  auto list = op->getAttrOfType<mlir::DenseI64ArrayAttr>(name);
  return list ? std::vector<int64_t>(list.asArrayRef().begin(), list.asArrayRef().end()) : std::vector<int64_t>();
}

bool Contains(llvm::ArrayRef<int64_t> list, int64_t n) { return llvm::is_contained(list, n); }

// A rule of the op in which no dim has a factor yet.
Rule Plain(mlir::Operation* op) {
  Rule r;
  for (mlir::Value v : op->getOperands()) r.operands.emplace_back(static_cast<size_t>(RankOf(v)), -1);
  for (mlir::Value v : op->getResults()) r.results.emplace_back(static_cast<size_t>(RankOf(v)), -1);
  return r;
}

int NewFactor(Rule& r, bool summed = false) {
  r.summed.push_back(summed);
  return r.factors++;
}

int& Operand(Rule& r, size_t i, int64_t dim) { return r.operands[i][static_cast<size_t>(dim)]; }
int& Output(Rule& r, size_t i, int64_t dim) { return r.results[i][static_cast<size_t>(dim)]; }

bool IsElementwise(mlir::Operation* op) {
  static const llvm::StringSet<>& names = *new llvm::StringSet<>{
      "abs", "add", "and", "atan2", "bitcast_convert", "cbrt", "ceil", "clamp", "compare", "complex", "convert",
      "cosine", "count_leading_zeros", "divide", "exponential", "exponential_minus_one", "floor", "imag", "is_finite",
      "log", "log_plus_one", "logistic", "map", "maximum", "minimum", "multiply", "negate", "not", "or", "popcnt",
      "power", "real", "reduce_precision", "remainder", "round_nearest_afz", "round_nearest_even", "rsqrt", "select",
      "shift_left", "shift_right_arithmetic", "shift_right_logical", "sign", "sine", "sqrt", "subtract", "tan", "tanh",
      "xor", "optimization_barrier",
      // chlo
      "acos", "acosh", "asin", "asinh", "atan", "atanh", "bessel_i1e", "conj", "cosh", "digamma", "erf", "erf_inv",
      "erfc", "is_inf", "is_neg_inf", "is_pos_inf", "lgamma", "next_after", "polygamma", "sinh", "zeta"};
  if (!names.contains(op->getName().stripDialect()) || op->getNumResults() != 1) return false;
  auto result = TypeOf(op->getResult(0));
  if (!result) return false;
  for (mlir::Value v : op->getOperands()) {
    auto type = TypeOf(v);
    if (!type || (type.getShape() != result.getShape() && type.getRank() != 0)) return false;
    // A scalar taken apart is no scalar for all.
    if (mlir::isa<stablehlo::BitcastConvertOp>(op) && type.getRank() != result.getRank()) return false;
  }
  return true;
}

Rule Elementwise(mlir::Operation* op) {
  Rule r = Plain(op);
  for (int64_t d = 0; d < RankOf(op->getResult(0)); ++d) {
    const int f = NewFactor(r);
    Output(r, 0, d) = f;
    for (size_t i = 0; i < r.operands.size(); ++i) {
      if (!r.operands[i].empty()) Operand(r, i, d) = f;
    }
  }
  return r;
}

// The major dims of each group of dims of operand and result that have equal products.
Rule Reshaped(mlir::Operation* op) {
  Rule r = Plain(op);
  const auto from = TypeOf(op->getOperand(0)).getShape(), to = TypeOf(op->getResult(0)).getShape();
  size_t i = 0, j = 0;
  while (i < from.size() && j < to.size()) {
    while (i < from.size() && from[i] == 1) ++i;
    while (j < to.size() && to[j] == 1) ++j;
    if (i == from.size() || j == to.size()) break;
    const int f = NewFactor(r);
    r.operands[0][i] = f;
    r.results[0][j] = f;
    int64_t a = from[i++], b = to[j++];
    while (a != b) {
      if (a < b) {
        if (i == from.size()) return r;
        a *= from[i++];
      } else {
        if (j == to.size()) return r;
        b *= to[j++];
      }
    }
  }
  return r;
}

Rule Dot(stablehlo::DotGeneralOp op) {
  Rule r = Plain(op);
  const auto dims = op.getDotDimensionNumbers();
  int64_t out = 0;
  for (size_t k = 0; k < dims.getLhsBatchingDimensions().size(); ++k) {
    const int f = NewFactor(r);
    Operand(r, 0, dims.getLhsBatchingDimensions()[k]) = f;
    Operand(r, 1, dims.getRhsBatchingDimensions()[k]) = f;
    Output(r, 0, out++) = f;
  }
  double flops = 2;
  for (size_t k = 0; k < dims.getLhsContractingDimensions().size(); ++k) {
    const int f = NewFactor(r, true);
    Operand(r, 0, dims.getLhsContractingDimensions()[k]) = f;
    Operand(r, 1, dims.getRhsContractingDimensions()[k]) = f;
    flops *= static_cast<double>(SizeOf(op->getOperand(0), dims.getLhsContractingDimensions()[k]));
  }
  for (size_t i = 0; i < 2; ++i) {
    for (int& f : r.operands[i]) {
      if (f >= 0) continue;
      f = NewFactor(r);
      Output(r, 0, out++) = f;
    }
  }
  r.flops = flops * static_cast<double>(TypeOf(op->getResult(0)).getNumElements());
  return r;
}

std::optional<Rule> Convolution(stablehlo::ConvolutionOp op) {
  if (op.getFeatureGroupCount() != 1 || op.getBatchGroupCount() != 1) return std::nullopt;
  Rule r = Plain(op);
  const auto dims = op.getDimensionNumbers();
  const int batch = NewFactor(r), in = NewFactor(r, true), out = NewFactor(r);
  Operand(r, 0, dims.getInputBatchDimension()) = batch;
  Output(r, 0, dims.getOutputBatchDimension()) = batch;
  Operand(r, 0, dims.getInputFeatureDimension()) = in;
  Operand(r, 1, dims.getKernelInputFeatureDimension()) = in;
  Operand(r, 1, dims.getKernelOutputFeatureDimension()) = out;
  Output(r, 0, dims.getOutputFeatureDimension()) = out;
  double taps = 2 * static_cast<double>(SizeOf(op->getOperand(0), dims.getInputFeatureDimension()));
  for (const int64_t d : dims.getKernelSpatialDimensions()) taps *= static_cast<double>(SizeOf(op->getOperand(1), d));
  r.flops = taps * static_cast<double>(TypeOf(op->getResult(0)).getNumElements());
  return r;
}

// Whether a region is one op on its two arguments.
mlir::Operation* OnlyOp(mlir::Operation* op) {
  if (op->getNumRegions() != 1) return nullptr;
  mlir::Block& body = op->getRegion(0).front();
  mlir::Operation& first = body.front();
  const bool single = body.getNumArguments() == 2 && body.getOperations().size() == 2 && first.getNumOperands() == 2 &&
                      first.getNumResults() == 1 && first.getNumRegions() == 0 &&
                      body.getTerminator()->getNumOperands() == 1 &&
                      body.getTerminator()->getOperand(0) == first.getResult(0) &&
                      ((first.getOperand(0) == body.getArgument(0) && first.getOperand(1) == body.getArgument(1)) ||
                       (first.getOperand(0) == body.getArgument(1) && first.getOperand(1) == body.getArgument(0)));
  return single && first.getOperand(0).getType() == first.getResult(0).getType() ? &first : nullptr;
}

std::optional<Meeting> MeetingOf(mlir::Operation* op) {
  if (mlir::isa<stablehlo::AddOp>(op)) return Meeting::kAdd;
  if (mlir::isa<stablehlo::MulOp>(op)) return Meeting::kMultiply;
  if (mlir::isa<stablehlo::MaxOp>(op)) return Meeting::kMaximum;
  if (mlir::isa<stablehlo::MinOp>(op)) return Meeting::kMinimum;
  if (mlir::isa<stablehlo::AndOp>(op)) return Meeting::kAnd;
  if (mlir::isa<stablehlo::OrOp>(op)) return Meeting::kOr;
  if (mlir::isa<stablehlo::XorOp>(op)) return Meeting::kXor;
  return std::nullopt;
}

// Bits of each element, or of each part of complex ones.
mlir::DenseElementsAttr Filled(mlir::RankedTensorType type, uint64_t bits) {
  const llvm::APInt word(64, bits);
  const auto number = [&](mlir::Type t) {
    const auto& semantics = mlir::cast<mlir::FloatType>(t).getFloatSemantics();
    return llvm::APFloat(semantics, word.zextOrTrunc(llvm::APFloat::getSizeInBits(semantics)));
  };
  const mlir::Type element = type.getElementType();
  if (mlir::isa<mlir::IntegerType>(element))
    return mlir::DenseElementsAttr::get(type, word.zextOrTrunc(element.getIntOrFloatBitWidth()));
  if (auto complex = mlir::dyn_cast<mlir::ComplexType>(element)) {
    const llvm::APFloat part = number(complex.getElementType());
    return mlir::DenseElementsAttr::get(type, std::complex<llvm::APFloat>(part, part));
  }
  return mlir::DenseElementsAttr::get(type, number(element));
}

std::optional<uint64_t> NeutralOf(Meeting op, mlir::RankedTensorType type) {
  return NeutralBits(op, stablehlo::ElementTypeOf(type.getElementType()));
}

bool HasNeutral(mlir::Operation* op) {
  mlir::Operation* only = OnlyOp(op);
  const std::optional<Meeting> meeting = only == nullptr ? std::nullopt : MeetingOf(only);
  return meeting && NeutralOf(*meeting, TypeOf(only->getResult(0)));
}

Rule Reduce(stablehlo::ReduceOp op) {
  Rule r = Plain(op);
  const std::vector<int64_t> reduced = Numbers(op, "dimensions");
  const size_t inputs = op->getNumOperands() / 2;
  const bool sums = inputs == 1 && HasNeutral(op) &&
                    TypeOf(op->getOperand(0)).getElementType() == TypeOf(op->getResult(0)).getElementType();
  int64_t out = 0;
  for (int64_t d = 0; d < RankOf(op->getOperand(0)); ++d) {
    const bool is_reduced = Contains(reduced, d);
    if (is_reduced && !sums) continue;
    const int f = NewFactor(r, is_reduced);
    for (size_t i = 0; i < inputs; ++i) {
      Operand(r, i, d) = f;
      if (!is_reduced) Output(r, i, out) = f;
    }
    if (!is_reduced) ++out;
  }
  if (sums) {
    r.start = 1;
    r.combiner = op;
  }
  return r;
}

// Dims of the first operand that stand as they are in the first result, under one factor each in all of `same`.
template <class Keep>
Rule AsTheyAre(mlir::Operation* op, const std::vector<size_t>& same, const Keep& keep) {
  Rule r = Plain(op);
  for (int64_t d = 0; d < RankOf(op->getResult(0)); ++d) {
    if (!keep(d)) continue;
    const int f = NewFactor(r);
    for (auto& result : r.results) result[static_cast<size_t>(d)] = f;
    for (const size_t i : same) Operand(r, i, d) = f;
  }
  return r;
}

std::vector<size_t> AllOperands(mlir::Operation* op) {
  std::vector<size_t> all(op->getNumOperands());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  return all;
}

Rule Gather(stablehlo::GatherOp op) {
  Rule r = Plain(op);
  const auto n = op.getDimensionNumbers();
  const std::vector<int64_t> sizes = Numbers(op, "slice_sizes");
  // Dims of the operand, in order, that are dims of the slices.
  size_t offset = 0;
  for (int64_t d = 0; d < RankOf(op->getOperand(0)); ++d) {
    if (Contains(n.getCollapsedSliceDims(), d) || Contains(n.getOperandBatchingDims(), d)) continue;
    const int64_t out = n.getOffsetDims()[offset++];
    if (sizes[static_cast<size_t>(d)] != SizeOf(op->getOperand(0), d)) continue;
    const int f = NewFactor(r);
    Operand(r, 0, d) = f;
    Output(r, 0, out) = f;
  }
  // Dims of the indices, in order, that are the other dims of the result.
  int64_t out = 0;
  for (int64_t d = 0; d < RankOf(op->getOperand(1)); ++d) {
    if (d == n.getIndexVectorDim()) continue;
    while (Contains(n.getOffsetDims(), out)) ++out;
    const int f = NewFactor(r);
    Operand(r, 1, d) = f;
    Output(r, 0, out++) = f;
    for (size_t k = 0; k < n.getStartIndicesBatchingDims().size(); ++k) {
      if (n.getStartIndicesBatchingDims()[k] == d) Operand(r, 0, n.getOperandBatchingDims()[k]) = f;
    }
  }
  return r;
}

std::optional<Rule> Scatter(stablehlo::ScatterOp op) {
  if (op->getNumOperands() != 3) return std::nullopt;
  Rule r = Plain(op);
  const auto n = op.getScatterDimensionNumbers();
  const mlir::Value input = op->getOperand(0), indices = op->getOperand(1), updates = op->getOperand(2);
  size_t window = 0;
  for (int64_t d = 0; d < RankOf(input); ++d) {
    if (Contains(n.getInsertedWindowDims(), d) || Contains(n.getInputBatchingDims(), d)) continue;
    const int64_t of_update = n.getUpdateWindowDims()[window++];
    if (SizeOf(updates, of_update) != SizeOf(input, d)) continue;
    const int f = NewFactor(r);
    Operand(r, 0, d) = f;
    Operand(r, 2, of_update) = f;
    Output(r, 0, d) = f;
  }
  const bool sums = HasNeutral(op);
  int64_t of_update = 0;
  for (int64_t d = 0; d < RankOf(indices); ++d) {
    if (d == n.getIndexVectorDim()) continue;
    while (Contains(n.getUpdateWindowDims(), of_update)) ++of_update;
    int64_t batch = -1;
    for (size_t k = 0; k < n.getScatterIndicesBatchingDims().size(); ++k) {
      if (n.getScatterIndicesBatchingDims()[k] == d) batch = n.getInputBatchingDims()[k];
    }
    if (batch >= 0 || sums) {
      const int f = NewFactor(r, batch < 0);
      Operand(r, 1, d) = f;
      Operand(r, 2, of_update) = f;
      if (batch >= 0) Operand(r, 0, batch) = Output(r, 0, batch) = f;
    }
    ++of_update;
  }
  if (sums) {
    r.start = 0;
    r.combiner = op;
  }
  return r;
}

// Windows that look at one element along a dim.
std::optional<Rule> Windows(stablehlo::ReduceWindowOp op) {
  const size_t inputs = op->getNumOperands() / 2;
  const std::vector<int64_t> window = Numbers(op, "window_dimensions"), strides = Numbers(op, "window_strides"),
                             base = Numbers(op, "base_dilations");
  std::vector<int64_t> padding;
  if (auto attr = op->getAttrOfType<mlir::DenseIntElementsAttr>("padding")) {
    for (const llvm::APInt& v : attr.getValues<llvm::APInt>()) padding.push_back(v.getSExtValue());
  }
  std::vector<size_t> same(inputs);
  for (size_t i = 0; i < inputs; ++i) same[i] = i;
  return AsTheyAre(op, same, [&](int64_t d) {
    const auto k = static_cast<size_t>(d);
    return window[k] == 1 && (strides.empty() || strides[k] == 1) && (base.empty() || base[k] == 1) &&
           (padding.empty() || (padding[2 * k] == 0 && padding[2 * k + 1] == 0));
  });
}

Rule Broadcast(mlir::Operation* op, const std::vector<int64_t>& where) {
  Rule r = Plain(op);
  for (int64_t d = 0; d < RankOf(op->getResult(0)); ++d) Output(r, 0, d) = NewFactor(r);
  for (size_t i = 0; i < where.size(); ++i) {
    if (SizeOf(op->getOperand(0), static_cast<int64_t>(i)) == SizeOf(op->getResult(0), where[i]))
      r.operands[0][i] = Output(r, 0, where[i]);
  }
  return r;
}

}  // namespace

std::optional<Rule> RuleOf(mlir::Operation* op) {
  for (mlir::Value v : op->getOperands()) {
    if (!TypeOf(v)) return std::nullopt;
  }
  for (mlir::Value v : op->getResults()) {
    if (!TypeOf(v)) return std::nullopt;
  }
  if (IsElementwise(op)) return Elementwise(op);
  if (auto dot = mlir::dyn_cast<stablehlo::DotGeneralOp>(op)) return Dot(dot);
  if (auto conv = mlir::dyn_cast<stablehlo::ConvolutionOp>(op)) return Convolution(conv);
  if (auto reduce = mlir::dyn_cast<stablehlo::ReduceOp>(op)) return Reduce(reduce);
  if (auto gather = mlir::dyn_cast<stablehlo::GatherOp>(op)) return Gather(gather);
  if (auto scatter = mlir::dyn_cast<stablehlo::ScatterOp>(op)) return Scatter(scatter);
  if (auto windows = mlir::dyn_cast<stablehlo::ReduceWindowOp>(op)) return Windows(windows);
  if (mlir::isa<stablehlo::ReshapeOp>(op)) return Reshaped(op);
  if (mlir::isa<stablehlo::BroadcastInDimOp>(op)) return Broadcast(op, Numbers(op, "broadcast_dimensions"));
  if (mlir::isa<stablehlo::BroadcastOp>(op)) {
    std::vector<int64_t> where;
    for (int64_t d = 0; d < RankOf(op->getOperand(0)); ++d)
      where.push_back(RankOf(op->getResult(0)) - RankOf(op->getOperand(0)) + d);
    return Broadcast(op, where);
  }
  if (mlir::isa<stablehlo::TransposeOp>(op)) {
    Rule r = Plain(op);
    const std::vector<int64_t> order = Numbers(op, "permutation");
    for (size_t d = 0; d < order.size(); ++d) r.results[0][d] = Operand(r, 0, order[d]) = NewFactor(r);
    return r;
  }
  if (mlir::isa<stablehlo::SliceOp>(op)) {
    const auto starts = Numbers(op, "start_indices"), strides = Numbers(op, "strides");
    return AsTheyAre(op, {0}, [&](int64_t d) {
      return SizeOf(op->getOperand(0), d) == SizeOf(op->getResult(0), d) && starts[static_cast<size_t>(d)] == 0 &&
             strides[static_cast<size_t>(d)] == 1;
    });
  }
  if (mlir::isa<stablehlo::PadOp>(op)) {
    const auto low = Numbers(op, "edge_padding_low"), high = Numbers(op, "edge_padding_high"),
               interior = Numbers(op, "interior_padding");
    return AsTheyAre(op, {0}, [&](int64_t d) {
      const auto k = static_cast<size_t>(d);
      return low[k] == 0 && high[k] == 0 && interior[k] == 0;
    });
  }
  if (mlir::isa<stablehlo::ReverseOp>(op)) {
    const auto reversed = Numbers(op, "dimensions");
    return AsTheyAre(op, {0}, [&](int64_t d) { return !Contains(reversed, d); });
  }
  if (mlir::isa<stablehlo::ConcatenateOp>(op)) {
    const int64_t along = op->getAttrOfType<mlir::IntegerAttr>("dimension").getInt();
    return AsTheyAre(op, AllOperands(op), [&](int64_t d) { return d != along; });
  }
  if (mlir::isa<stablehlo::DynamicSliceOp>(op)) {
    return AsTheyAre(op, {0}, [&](int64_t d) { return SizeOf(op->getOperand(0), d) == SizeOf(op->getResult(0), d); });
  }
  if (mlir::isa<stablehlo::DynamicUpdateSliceOp>(op)) {
    return AsTheyAre(op, {0, 1},
                     [&](int64_t d) { return SizeOf(op->getOperand(1), d) == SizeOf(op->getResult(0), d); });
  }
  if (mlir::isa<stablehlo::SortOp>(op)) {
    auto attr = op->getAttrOfType<mlir::IntegerAttr>("dimension");
    const int64_t rank = RankOf(op->getResult(0));
    const int64_t along =
        attr == nullptr || attr.getInt() < 0 ? rank + (attr == nullptr ? -1 : attr.getInt()) : attr.getInt();
    return AsTheyAre(op, AllOperands(op), [&](int64_t d) { return d != along; });
  }
  if (mlir::isa<stablehlo::CholeskyOp, stablehlo::TriangularSolveOp>(op)) {
    const int64_t rank = RankOf(op->getResult(0));
    return AsTheyAre(op, AllOperands(op), [&](int64_t d) { return d < rank - 2; });
  }
  if (mlir::isa<stablehlo::FftOp>(op)) {
    const auto rank = RankOf(op->getResult(0));
    const auto length = static_cast<int64_t>(Numbers(op, "fft_length").size());
    return AsTheyAre(op, {0}, [&](int64_t d) { return d < rank - length; });
  }
  return std::nullopt;
}

mlir::Value Neutral(mlir::OpBuilder& b, mlir::Location loc, Meeting op, mlir::RankedTensorType type) {
  const std::optional<uint64_t> bits = NeutralOf(op, type);
  if (!bits) return {};
  return stablehlo::ConstantOp::create(b, loc, mlir::cast<mlir::ElementsAttr>(Filled(type, *bits))).getResult();
}

mlir::Value Neutral(mlir::OpBuilder& b, mlir::Location loc, mlir::Operation* combiner, mlir::RankedTensorType type) {
  mlir::Operation* only = OnlyOp(combiner);
  const std::optional<Meeting> meeting = only == nullptr ? std::nullopt : MeetingOf(only);
  return meeting ? Neutral(b, loc, *meeting, type) : mlir::Value();
}

void FitAttributes(mlir::Operation* op, mlir::Operation* clone) {
  mlir::Builder b(op->getContext());
  // Numbers that are a dim's whole extent are its part's.
  const auto fit = [&](llvm::StringRef name) {
    std::vector<int64_t> sizes = Numbers(op, name);
    for (size_t d = 0; d < sizes.size(); ++d) {
      const auto k = static_cast<int64_t>(d);
      if (sizes[d] == SizeOf(op->getOperand(0), k)) sizes[d] = SizeOf(clone->getOperand(0), k);
    }
    clone->setAttr(name, b.getDenseI64ArrayAttr(sizes));
  };
  if (mlir::isa<stablehlo::SliceOp>(op)) fit("limit_indices");
  if (mlir::isa<stablehlo::DynamicSliceOp, stablehlo::GatherOp>(op)) fit("slice_sizes");
  if (mlir::isa<stablehlo::BroadcastOp>(op)) {
    std::vector<int64_t> sizes;
    for (int64_t d = 0; d < RankOf(op->getResult(0)) - RankOf(op->getOperand(0)); ++d)
      sizes.push_back(SizeOf(clone->getResult(0), d));
    clone->setAttr("broadcast_sizes", b.getDenseI64ArrayAttr(sizes));
  }
}

}  // namespace tenon::compiler
