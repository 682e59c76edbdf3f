#include "tenon/compiler/partition/partials.h"

#include <algorithm>

#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"
#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::compiler {
namespace {

constexpr int kMaxDepth = 64;      // structural: the recursion must fit a stack
constexpr int kMaxCalls = 10'000;  // structural: ends what would never end

mlir::RankedTensorType TypeOf(mlir::Value v) { return mlir::dyn_cast<mlir::RankedTensorType>(v.getType()); }

/// Piece `p` of `count` along dim `d`.
mlir::Value Piece(mlir::OpBuilder& b, mlir::Value x, int64_t d, int64_t p, int64_t count) {
  llvm::SmallVector<int64_t> sizes(TypeOf(x).getShape()), starts(sizes.size(), 0);
  sizes[static_cast<size_t>(d)] /= count;
  starts[static_cast<size_t>(d)] = p * sizes[static_cast<size_t>(d)];
  return Slice(b, x.getLoc(), x, starts, sizes);
}

/// The same with zeros around it.
mlir::Value PieceAmongZeros(mlir::OpBuilder& b, mlir::Value x, int64_t d, int64_t p, int64_t count) {
  llvm::SmallVector<mlir::Value> parts;
  const mlir::Value piece = Piece(b, x, d, p, count);
  for (int64_t i = 0; i < count; ++i) parts.push_back(i == p ? piece : Zeros(b, x.getLoc(), TypeOf(piece)));
  return Concatenate(b, x.getLoc(), parts, d);
}

bool IsZero(mlir::Value v) {
  return mlir::matchPattern(v, mlir::m_AnyZeroFloat()) || mlir::matchPattern(v, mlir::m_Zero());
}

/// Whether the body adds its two arguments.
bool Adds(mlir::Block& body) {
  mlir::Operation& first = body.front();
  return body.getOperations().size() == 2 && mlir::isa<stablehlo::AddOp>(first) &&
         first.getOperand(0) == body.getArgument(0) && first.getOperand(1) == body.getArgument(1) &&
         body.getTerminator()->getOperand(0) == first.getResult(0);
}

/// A sum of one array that starts at zero.
bool IsPlainSum(stablehlo::ReduceOp op) {
  return op->getNumOperands() == 2 && IsZero(op->getOperand(1)) && Adds(op->getRegion(0).front());
}

/// A dim along which a scatter's updates, with their indices, can be cut: it is one of both.
struct ScatterDim {
  int64_t updates;
  int64_t indices;
};

std::vector<ScatterDim> ScatterDims(stablehlo::ScatterOp op) {
  const stablehlo::ScatterDimensionNumbersAttr dims = op.getScatterDimensionNumbers();
  std::vector<ScatterDim> found;
  int64_t index_dim = 0;
  for (int64_t d = 0; d < TypeOf(op->getOperand(2)).getRank(); ++d) {
    if (llvm::is_contained(dims.getUpdateWindowDims(), d)) continue;
    if (index_dim == dims.getIndexVectorDim()) ++index_dim;
    // Batching dims are dims of the sum, too.
    if (!llvm::is_contained(dims.getScatterIndicesBatchingDims(), index_dim)) found.push_back({d, index_dim});
    ++index_dim;
  }
  return found;
}

mlir::Value CloneWith(mlir::OpBuilder& b, mlir::Operation* op, llvm::ArrayRef<mlir::Value> operands) {
  mlir::IRMapping map;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) map.map(op->getOperand(i), operands[i]);
  return b.clone(*op, map)->getResult(0);
}

bool Divides(mlir::Value x, int64_t dim, int64_t count) {
  const int64_t size = TypeOf(x).getDimSize(static_cast<unsigned>(dim));
  return size > 0 && size % count == 0;
}

}  // namespace

bool Partials::Less::operator()(const Key& a, const Key& b) const {
  if (a.first != b.first) return a.first < b.first;
  return std::lexicographical_compare(
      a.second.begin(), a.second.end(), b.second.begin(), b.second.end(),
      [](sdy::AxisRefAttr x, sdy::AxisRefAttr y) { return x.getAsOpaquePointer() < y.getAsOpaquePointer(); });
}

Lanes Partials::Find(mlir::Value whole, const Axes& axes, int64_t count, const Placement& placement) {
  return Make(whole, axes, count, placement, 0);
}

Lanes Partials::Make(mlir::Value whole, const Axes& axes, int64_t count, const Placement& placement, int depth) {
  const auto found = known_.find({whole.getAsOpaquePointer(), axes});
  if (found != known_.end()) return found->second;
  const mlir::RankedTensorType type = TypeOf(whole);
  if (!type || depth > kMaxDepth) return {};
  mlir::OpBuilder b(whole.getContext());
  b.setInsertionPointAfterValue(whole);
  Lanes parts;
  const auto keep = [&] {
    Set(whole, axes, parts);
    return parts;
  };
  const auto cut_dim = [&](mlir::Value x) -> int64_t {
    const std::vector<Axes>& dims = placement.Of(x);
    // What is known may be of a value that is no more and stood at the same address: right sums come of it all the
    // same.
    for (size_t d = 0; d < dims.size() && TypeOf(x).getRank() == static_cast<int64_t>(dims.size()); ++d) {
      if (dims[d] == axes && Divides(x, static_cast<int64_t>(d), count)) return static_cast<int64_t>(d);
    }
    return -1;
  };
  if (const int64_t d = cut_dim(whole); d >= 0) {
    for (int64_t p = 0; p < count; ++p) parts.push_back(PieceAmongZeros(b, whole, d, p, count));
    return keep();
  }
  mlir::Operation* op = whole.getDefiningOp();
  if (op == nullptr || op->getNumResults() != 1) return {};
  if (auto dot = mlir::dyn_cast<stablehlo::DotGeneralOp>(op)) {
    const auto numbers = dot.getDotDimensionNumbers();
    const auto lhs = numbers.getLhsContractingDimensions(), rhs = numbers.getRhsContractingDimensions();
    const int64_t cut[] = {cut_dim(op->getOperand(0)), cut_dim(op->getOperand(1))};
    for (size_t i = 0; i < lhs.size(); ++i) {
      if (lhs[i] != cut[0] && rhs[i] != cut[1]) continue;
      if (!Divides(op->getOperand(0), lhs[i], count)) continue;
      for (int64_t p = 0; p < count; ++p) {
        const mlir::Value operands[] = {Piece(b, op->getOperand(0), lhs[i], p, count),
                                        Piece(b, op->getOperand(1), rhs[i], p, count)};
        parts.push_back(CloneWith(b, op, operands));
      }
      return keep();
    }
    return {};
  }
  if (auto reduce = mlir::dyn_cast<stablehlo::ReduceOp>(op)) {
    if (!IsPlainSum(reduce)) return {};
    const int64_t d = cut_dim(op->getOperand(0));
    if (d >= 0 && llvm::is_contained(reduce.getDimensions(), d)) {
      for (int64_t p = 0; p < count; ++p)
        parts.push_back(CloneWith(b, op, {Piece(b, op->getOperand(0), d, p, count), op->getOperand(1)}));
      return keep();
    }
  }
  if (auto scatter = mlir::dyn_cast<stablehlo::ScatterOp>(op)) {
    // Each device adds its updates; the first one has what they are added to.
    if (op->getNumOperands() != 3 || !Adds(op->getRegion(0).front())) return {};
    const int64_t indices = cut_dim(op->getOperand(1)), updates = cut_dim(op->getOperand(2));
    for (const ScatterDim& dim : ScatterDims(scatter)) {
      if ((dim.indices != indices && dim.updates != updates) || !Divides(op->getOperand(2), dim.updates, count))
        continue;
      for (int64_t p = 0; p < count; ++p) {
        parts.push_back(CloneWith(
            b, op,
            {p == 0 ? op->getOperand(0) : Zeros(b, op->getLoc(), TypeOf(op->getOperand(0))),
             Piece(b, op->getOperand(1), dim.indices, p, count), Piece(b, op->getOperand(2), dim.updates, p, count)}));
      }
      return keep();
    }
    return {};
  }
  // What is linear in one operand, or in both at once.
  const bool moves = mlir::isa<stablehlo::TransposeOp, stablehlo::ReshapeOp, stablehlo::BroadcastInDimOp,
                               stablehlo::SliceOp, stablehlo::ReverseOp, stablehlo::NegOp, stablehlo::ReduceOp>(op);
  const bool adds = mlir::isa<stablehlo::AddOp, stablehlo::SubtractOp>(op);
  const bool scales = mlir::isa<stablehlo::MulOp>(op);
  if (!moves && !adds && !scales) return {};
  const Lanes first = Make(op->getOperand(0), axes, count, placement, depth + 1);
  if (first.empty() && !scales) return {};
  Lanes second;
  if (adds || (scales && first.empty())) second = Make(op->getOperand(1), axes, count, placement, depth + 1);
  if (second.empty() && (adds || first.empty())) return {};
  b.setInsertionPointAfterValue(whole);
  for (size_t p = 0; p < static_cast<size_t>(count); ++p) {
    llvm::SmallVector<mlir::Value> operands(op->getOperands());
    if (!first.empty()) operands[0] = first[p];
    if (!second.empty()) operands[1] = second[p];
    parts.push_back(CloneWith(b, op, operands));
  }
  return keep();
}

void InlineCalls(mlir::func::FuncOp main) {
  for (int inlined = 0; inlined < kMaxCalls; ++inlined) {
    mlir::func::CallOp call;
    main.walk([&](mlir::func::CallOp c) {
      call = c;
      return mlir::WalkResult::interrupt();
    });
    if (!call) return;
    auto callee = mlir::SymbolTable::lookupNearestSymbolFrom<mlir::func::FuncOp>(call, call.getCalleeAttr());
    if (!callee || callee.empty() || callee == main) return;
    mlir::OpBuilder b(call);
    mlir::IRMapping map;
    map.map(callee.front().getArguments(), call->getOperands());
    for (mlir::Operation& op : callee.front().without_terminator()) b.clone(op, map);
    llvm::SmallVector<mlir::Value> results;
    for (mlir::Value v : callee.front().getTerminator()->getOperands()) results.push_back(map.lookupOrDefault(v));
    call->replaceAllUsesWith(results);
    call->erase();
  }
}

}  // namespace tenon::compiler
