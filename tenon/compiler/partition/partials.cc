#include "tenon/compiler/partition/partials.h"

#include <algorithm>

#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"
#include "tenon/compiler/partition/rules.h"
#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::compiler {
namespace {

constexpr int kMaxDepth = 64;         // structural: the recursion must fit a stack
constexpr size_t kMaxCalls = 10'000;  // structural: ends what would never end

mlir::RankedTensorType TypeOf(mlir::Value v) { return mlir::dyn_cast<mlir::RankedTensorType>(v.getType()); }

/// Piece `p` of `count` along dim `d`.
mlir::Value Piece(mlir::OpBuilder& b, mlir::Value x, int64_t d, int64_t p, int64_t count) {
  llvm::SmallVector<int64_t> sizes(TypeOf(x).getShape()), starts(sizes.size(), 0);
  sizes[static_cast<size_t>(d)] /= count;
  starts[static_cast<size_t>(d)] = p * sizes[static_cast<size_t>(d)];
  return Slice(b, x.getLoc(), x, starts, sizes);
}

/// What changes nothing in a combination; null for types that have nothing of the kind.
mlir::Value Nothing(mlir::OpBuilder& b, mlir::Location loc, mlir::RankedTensorType type, sdy::ReductionOp op) {
  switch (op) {
    case sdy::ReductionOp::SUM:
      return Neutral(b, loc, Meeting::kAdd, type);
    case sdy::ReductionOp::MAX:
      return Neutral(b, loc, Meeting::kMaximum, type);
    case sdy::ReductionOp::MIN:
      return Neutral(b, loc, Meeting::kMinimum, type);
  }
  return {};
}

bool IsZero(mlir::Value v) {
  return mlir::matchPattern(v, mlir::m_AnyZeroFloat()) || mlir::matchPattern(v, mlir::m_Zero());
}

bool Is(mlir::Operation* op, sdy::ReductionOp kind) {
  switch (kind) {
    case sdy::ReductionOp::SUM:
      return mlir::isa<stablehlo::AddOp>(op);
    case sdy::ReductionOp::MAX:
      return mlir::isa<stablehlo::MaxOp>(op);
    case sdy::ReductionOp::MIN:
      return mlir::isa<stablehlo::MinOp>(op);
  }
  return false;
}

/// Whether the body combines its two arguments.
bool Combines(mlir::Block& body, sdy::ReductionOp kind) {
  mlir::Operation& first = body.front();
  return body.getOperations().size() == 2 && Is(&first, kind) && first.getOperand(0) == body.getArgument(0) &&
         first.getOperand(1) == body.getArgument(1) && body.getTerminator()->getOperand(0) == first.getResult(0);
}

/// A reduction of one array that every part of it can start as it does.
bool IsPlain(stablehlo::ReduceOp op, sdy::ReductionOp kind) {
  if (op->getNumOperands() != 2 || !Combines(op->getRegion(0).front(), kind)) return false;
  return kind != sdy::ReductionOp::SUM || IsZero(op->getOperand(1));
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

struct Partials::Request {
  const Over& over;
  int64_t count;
  const Placement& placement;

  /// The dim along which `x` is cut over these axes, -1 for none.
  int64_t CutDim(mlir::Value x) const {
    const std::vector<Axes>& dims = placement.Of(x);
    // What is known may be of a value that is no more and stood at the same address: right combinations come of it all
    // the same.
    for (size_t d = 0; d < dims.size() && TypeOf(x).getRank() == static_cast<int64_t>(dims.size()); ++d) {
      if (dims[d] == over.axes && Divides(x, static_cast<int64_t>(d), count)) return static_cast<int64_t>(d);
    }
    return -1;
  }

  mlir::Value PieceOf(mlir::OpBuilder& b, mlir::Value x, int64_t d, int64_t p) const {
    return Piece(b, x, d, p, count);
  }

  /// Of an array that is cut: its pieces, with what changes nothing around each.
  Lanes OfCut(mlir::OpBuilder& b, mlir::Value whole) const {
    const int64_t d = CutDim(whole);
    if (d < 0) return {};
    Lanes pieces, parts;
    for (int64_t p = 0; p < count; ++p) pieces.push_back(PieceOf(b, whole, d, p));
    const mlir::Value nothing = Nothing(b, whole.getLoc(), TypeOf(pieces[0]), over.op);
    if (!nothing) return {};
    for (size_t p = 0; p < pieces.size(); ++p) {
      llvm::SmallVector<mlir::Value> row(pieces.size(), nothing);
      row[p] = pieces[p];
      parts.push_back(Concatenate(b, whole.getLoc(), row, d));
    }
    return parts;
  }

  Lanes OfProduct(mlir::OpBuilder& b, stablehlo::DotGeneralOp dot) const {
    if (over.op != sdy::ReductionOp::SUM) return {};
    const auto numbers = dot.getDotDimensionNumbers();
    const auto lhs = numbers.getLhsContractingDimensions(), rhs = numbers.getRhsContractingDimensions();
    const mlir::Value left = dot->getOperand(0), right = dot->getOperand(1);
    const int64_t cut[] = {CutDim(left), CutDim(right)};
    Lanes parts;
    for (size_t i = 0; i < lhs.size() && parts.empty(); ++i) {
      if ((lhs[i] != cut[0] && rhs[i] != cut[1]) || !Divides(left, lhs[i], count)) continue;
      for (int64_t p = 0; p < count; ++p)
        parts.push_back(CloneWith(b, dot, {PieceOf(b, left, lhs[i], p), PieceOf(b, right, rhs[i], p)}));
    }
    return parts;
  }

  /// Of a reduction over a cut dim.
  Lanes OfReduction(mlir::OpBuilder& b, stablehlo::ReduceOp reduce) const {
    if (!IsPlain(reduce, over.op)) return {};
    const int64_t d = CutDim(reduce->getOperand(0));
    if (d < 0 || !llvm::is_contained(reduce.getDimensions(), d)) return {};
    Lanes parts;
    for (int64_t p = 0; p < count; ++p)
      parts.push_back(CloneWith(b, reduce, {PieceOf(b, reduce->getOperand(0), d, p), reduce->getOperand(1)}));
    return parts;
  }

  /// Each device puts in its updates; the first one has what they are combined with.
  Lanes OfScatter(mlir::OpBuilder& b, stablehlo::ScatterOp scatter) const {
    if (scatter->getNumOperands() != 3 || !Combines(scatter->getRegion(0).front(), over.op)) return {};
    const mlir::Value start = scatter->getOperand(0), indices = scatter->getOperand(1),
                      updates = scatter->getOperand(2);
    const int64_t cut_indices = CutDim(indices), cut_updates = CutDim(updates);
    for (const ScatterDim& dim : ScatterDims(scatter)) {
      if ((dim.indices != cut_indices && dim.updates != cut_updates) || !Divides(updates, dim.updates, count)) continue;
      const mlir::Value nothing = Nothing(b, scatter->getLoc(), TypeOf(start), over.op);
      if (!nothing) return {};
      Lanes parts;
      for (int64_t p = 0; p < count; ++p) {
        parts.push_back(CloneWith(
            b, scatter,
            {p == 0 ? start : nothing, PieceOf(b, indices, dim.indices, p), PieceOf(b, updates, dim.updates, p)}));
      }
      return parts;
    }
    return {};
  }
};

bool Partials::Key::operator<(const Key& other) const {
  if (value != other.value) return value < other.value;
  if (over.op != other.over.op) return over.op < other.over.op;
  return std::lexicographical_compare(
      over.axes.begin(), over.axes.end(), other.over.axes.begin(), other.over.axes.end(),
      [](sdy::AxisRefAttr x, sdy::AxisRefAttr y) { return x.getAsOpaquePointer() < y.getAsOpaquePointer(); });
}

Lanes Partials::Find(mlir::Value whole, const Over& over, int64_t count, const Placement& placement) {
  none_.clear();
  return Make(whole, {over, count, placement}, 0);
}

Lanes Partials::Make(mlir::Value whole, const Request& request, int depth) {
  const auto found = known_.find({whole.getAsOpaquePointer(), request.over});
  if (found != known_.end()) return found->second;
  if (!TypeOf(whole) || depth > kMaxDepth || none_.contains(whole.getAsOpaquePointer())) return {};
  mlir::OpBuilder b(whole.getContext());
  b.setInsertionPointAfterValue(whole);
  Lanes parts = request.OfCut(b, whole);
  mlir::Operation* op = whole.getDefiningOp();
  if (parts.empty() && op != nullptr && op->getNumResults() == 1) {
    if (auto dot = mlir::dyn_cast<stablehlo::DotGeneralOp>(op)) parts = request.OfProduct(b, dot);
    if (auto reduce = mlir::dyn_cast<stablehlo::ReduceOp>(op)) parts = request.OfReduction(b, reduce);
    if (auto scatter = mlir::dyn_cast<stablehlo::ScatterOp>(op)) parts = request.OfScatter(b, scatter);
    if (parts.empty()) parts = OfOperands(b, op, request, depth);
  }
  if (parts.empty()) {
    none_.insert(whole.getAsOpaquePointer());
  } else {
    Set(whole, request.over, parts);
  }
  return parts;
}

// What goes through the combination in one operand, or in both at once.
Lanes Partials::OfOperands(mlir::OpBuilder& b, mlir::Operation* op, const Request& request, int depth) {
  const sdy::ReductionOp kind = request.over.op;
  const bool sums = kind == sdy::ReductionOp::SUM;
  auto reduce = mlir::dyn_cast<stablehlo::ReduceOp>(op);
  const bool moves = mlir::isa<stablehlo::TransposeOp, stablehlo::ReshapeOp, stablehlo::BroadcastInDimOp,
                               stablehlo::SliceOp, stablehlo::ReverseOp>(op) ||
                     (reduce && IsPlain(reduce, kind)) || (sums && mlir::isa<stablehlo::NegOp>(op));
  const bool combines = Is(op, kind) || (sums && mlir::isa<stablehlo::SubtractOp>(op));
  const bool scales = sums && mlir::isa<stablehlo::MulOp>(op);
  if (!moves && !combines && !scales) return {};
  const Lanes first = Make(op->getOperand(0), request, depth + 1);
  if (first.empty() && !scales) return {};
  Lanes second;
  if (combines || (scales && first.empty())) second = Make(op->getOperand(1), request, depth + 1);
  if (second.empty() && (combines || first.empty())) return {};
  b.setInsertionPointAfter(op);
  Lanes parts;
  for (size_t p = 0; p < static_cast<size_t>(request.count); ++p) {
    llvm::SmallVector<mlir::Value> operands(op->getOperands());
    if (!first.empty()) operands[0] = first[p];
    if (!second.empty()) operands[1] = second[p];
    parts.push_back(CloneWith(b, op, operands));
  }
  return parts;
}

mlir::Value Combined(mlir::OpBuilder& b, mlir::Location loc, mlir::ValueRange parts, sdy::ReductionOp op) {
  mlir::Value whole = parts[0];
  for (mlir::Value part : parts.drop_front()) {
    switch (op) {
      case sdy::ReductionOp::SUM:
        whole = stablehlo::AddOp::create(b, loc, whole, part);
        break;
      case sdy::ReductionOp::MAX:
        whole = stablehlo::MaxOp::create(b, loc, whole, part);
        break;
      case sdy::ReductionOp::MIN:
        whole = stablehlo::MinOp::create(b, loc, whole, part);
        break;
    }
  }
  return whole;
}

mlir::Value AnyPart(mlir::OpBuilder& b, mlir::Location loc, mlir::Value whole, int64_t position, sdy::ReductionOp op) {
  if (position == 0 || op != sdy::ReductionOp::SUM) return whole;
  const mlir::Value nothing = Nothing(b, loc, TypeOf(whole), op);
  return nothing ? nothing : Zeros(b, loc, TypeOf(whole));
}

void InlineCalls(mlir::func::FuncOp main) {
  std::vector<mlir::func::CallOp> calls;
  const auto note = [&](mlir::func::CallOp call) { calls.push_back(call); };
  main.walk(note);
  for (size_t i = 0; i < calls.size() && i < kMaxCalls; ++i) {
    mlir::func::CallOp call = calls[i];
    auto callee = mlir::SymbolTable::lookupNearestSymbolFrom<mlir::func::FuncOp>(call, call.getCalleeAttr());
    if (!callee || callee.empty() || callee == main) continue;
    mlir::OpBuilder b(call);
    mlir::IRMapping map;
    map.map(callee.front().getArguments(), call->getOperands());
    for (mlir::Operation& op : callee.front().without_terminator()) b.clone(op, map)->walk(note);
    llvm::SmallVector<mlir::Value> results;
    for (mlir::Value v : callee.front().getTerminator()->getOperands()) results.push_back(map.lookupOrDefault(v));
    call->replaceAllUsesWith(results);
    call->erase();
  }
}

}  // namespace tenon::compiler
