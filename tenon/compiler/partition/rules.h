#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "mlir/IR/Builders.h"
#include "tenon/base/neutral.h"
#include "tenon/compiler/partition/cuts.h"

namespace tenon::compiler {

/// Which dims of an op's operands and results go together. Dims of one factor are cut alike, or none is; a dim without
/// one (-1) stays whole. Where a summed factor is cut, each process computes a summand of the result.
struct Rule {
  std::vector<std::vector<int>> operands, results;
  int factors = 0;
  std::vector<bool> summed;  ///< By factor.
  /// With a cut summed factor: this operand counts once, so that only the first summand starts from it and the others
  /// start from what changes nothing; -1: there is none.
  int start = -1;
  /// How summands combine, by its region; null: they are added.
  mlir::Operation* combiner = nullptr;
  /// Floating-point operations of the whole op that are worth sharing out, beside reading and writing.
  double flops = 0;
};

/// None for ops that only run on whole arrays.
std::optional<Rule> RuleOf(mlir::Operation* op);

/// NeutralBits in every element; null when there are none.
mlir::Value Neutral(mlir::OpBuilder& builder, mlir::Location loc, Meeting op, mlir::RankedTensorType type);

/// What changes nothing in the combination by the body of a reduction or scatter, like `type`; null when that is not
/// known.
mlir::Value Neutral(mlir::OpBuilder& builder, mlir::Location loc, mlir::Operation* combiner,
                    mlir::RankedTensorType type);

/// Makes the attributes of `clone`, a copy of `op` on parts of its operands, say so.
void FitAttributes(mlir::Operation* op, mlir::Operation* clone);

}  // namespace tenon::compiler
