// Cholesky, triangular systems and LU, whether written as StableHLO's ops or as the calls to LAPACK that JAX makes for
// a CPU.

#include <utility>
#include <vector>

#include "tenon/compiler/import/importer.h"
#include "tenon/compiler/import/types.h"
#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::compiler {
namespace {

bool IsReal(DType t) { return t == DType::kF32 || t == DType::kF64; }

/// The letter of LAPACK that the attribute holds; 0 when there is none.
char Letter(mlir::DictionaryAttr attributes, llvm::StringRef name) {
  auto value = attributes ? attributes.getAs<mlir::IntegerAttr>(name) : mlir::IntegerAttr();
  return value ? static_cast<char>(value.getValue().getZExtValue()) : '\0';
}

/// Whether the call reads and writes matrices by columns, as LAPACK does, and everything else by rows: then it computes
/// of the matrices what the routine's name says.
bool HasLayoutsOfLapack(mlir::Operation* op, int64_t matrix_rank) {
  const auto matches = [&](llvm::StringRef name, mlir::TypeRange types) {
    const std::vector<Dims> layouts = LayoutsOf(op, name);
    if (layouts.size() != types.size()) return false;
    for (size_t i = 0; i < layouts.size(); ++i) {
      auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(types[i]);
      if (!tensor) return false;
      const int64_t rank = tensor.getRank();
      Dims by_rows;
      for (int64_t d = rank; d-- > 0;) by_rows.push_back(d);
      Dims wanted = by_rows;
      if (rank == matrix_rank) {
        std::swap(wanted[0], wanted[1]);
        // Of a matrix of one row or column both are the same.
        const bool line = tensor.getDimSize(rank - 1) == 1 || tensor.getDimSize(rank - 2) == 1;
        if (line && layouts[i] == by_rows) continue;
      }
      if (layouts[i] != wanted) return false;
    }
    return true;
  };
  return matches("operand_layouts", op->getOperandTypes()) && matches("result_layouts", op->getResultTypes());
}

}  // namespace

Result<bool> Importer::ImportLinalg(mlir::Operation* op, Block& to) {
  auto called = op->getAttrOfType<mlir::StringAttr>("call_target_name");
  const llvm::StringRef target = called ? called.getValue() : "";
  if (op->getNumOperands() == 0 || (called && !target.starts_with("lapack_"))) return false;
  TENON_ASSIGN_OR_RETURN(GraphNode node, Start(op, OpCode::kLinalg));
  node.origin = nullptr;
  const Shape& shape = p_.shape(node.in[0]);
  if (!IsReal(shape.dtype) || shape.rank() < 2) return false;
  Dims batch(shape.dims.begin(), shape.dims.end() - 2);
  const int64_t rows = shape.dims[shape.rank() - 2], cols = shape.dims[shape.rank() - 1];
  const Shape info{DType::kS32, batch};

  if (auto cholesky = mlir::dyn_cast<stablehlo::CholeskyOp>(op)) {
    node.attributes = LinalgAttrs{.op = LinalgOp::kCholesky, .lower = cholesky.getLower(), .left_side = true};
  } else if (auto solve = mlir::dyn_cast<stablehlo::TriangularSolveOp>(op)) {
    std::swap(node.in[0], node.in[1]);
    const bool transpose = solve.getTransposeA() != stablehlo::Transpose::NO_TRANSPOSE;
    node.attributes = LinalgAttrs{.op = LinalgOp::kTriangularSolve,
                                  .lower = solve.getLower(),
                                  .left_side = solve.getLeftSide(),
                                  .transpose_a = transpose,
                                  .unit_diagonal = solve.getUnitDiagonal()};
  } else if (called) {
    if (!HasLayoutsOfLapack(op, static_cast<int64_t>(shape.rank()))) return false;
    const char prefix = shape.dtype == DType::kF32 ? 's' : 'd';
    auto attributes = op->getAttrOfType<mlir::DictionaryAttr>("mhlo.backend_config");
    if (!attributes) attributes = op->getAttrOfType<mlir::DictionaryAttr>("backend_config");
    const auto is = [&](llvm::StringRef routine) {
      return target == ("lapack_" + llvm::Twine(prefix) + routine + "_ffi").str();
    };
    if (is("potrf")) {
      const char uplo = Letter(attributes, "uplo");
      const bool fits = (uplo == 'L' || uplo == 'U') && node.in.size() == 1 && node.out.size() == 2 &&
                        node.out[0] == shape && node.out[1] == info;
      if (!fits || rows != cols) return false;
      node.attributes =
          LinalgAttrs{.op = LinalgOp::kCholesky, .lower = uplo == 'L', .left_side = true, .has_info = true};
    } else if (is("trsm")) {
      const char side = Letter(attributes, "side"), uplo = Letter(attributes, "uplo"),
                 trans = Letter(attributes, "trans_x"), diag = Letter(attributes, "diag");
      const bool known = (side == 'L' || side == 'R') && (uplo == 'L' || uplo == 'U') &&
                         (trans == 'N' || trans == 'T' || trans == 'C') && (diag == 'N' || diag == 'U');
      if (!known || node.in.size() != 2 || node.out.size() != 1) return false;
      std::swap(node.in[0], node.in[1]);
      const Shape& x = p_.shape(node.in[0]);
      if (!(node.out[0] == x) || x.dtype != shape.dtype || x.rank() != shape.rank() || rows != cols ||
          x.dims[x.rank() - (side == 'L' ? 2 : 1)] != rows || Dims(x.dims.begin(), x.dims.end() - 2) != batch) {
        return false;
      }
      node.attributes = LinalgAttrs{.op = LinalgOp::kTriangularSolve,
                                    .lower = uplo == 'L',
                                    .left_side = side == 'L',
                                    .transpose_a = trans != 'N',
                                    .unit_diagonal = diag == 'U'};
    } else if (is("getrf")) {
      Shape pivots{DType::kS32, batch};
      pivots.dims.push_back(std::min(rows, cols));
      if (node.in.size() != 1 || node.out.size() != 3 || !(node.out[0] == shape) || !(node.out[1] == pivots) ||
          !(node.out[2] == info))
        return false;
      node.attributes = LinalgAttrs{.op = LinalgOp::kLu, .lower = true, .left_side = true, .has_info = true};
    } else {
      return false;
    }
  } else {
    return false;
  }
  // Nothing to do, which went well.
  if (NumElements(shape.dims) == 0) {
    for (mlir::Value result : op->getResults()) TENON_RETURN_IF_ERROR(ImportZeros(result, to));
    return true;
  }
  Finish(op, std::move(node), to);
  return true;
}

}  // namespace tenon::compiler
