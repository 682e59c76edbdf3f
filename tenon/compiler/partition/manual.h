#pragma once

#include <map>
#include <string>
#include <vector>

#include "tenon/base/shape.h"
#include "tenon/compiler/partition/expand.h"
#include "tenon/compiler/partition/partials.h"
#include "tenon/dialect/sdy/dialect.h"

namespace tenon::compiler {

/// Partial values of operands and results that are unreduced over manual axes: `partials`, where it is given, has the
/// operands' and gets the results'. Without it, operands' are AnyPart of them.
struct UnreducedValues {
  Partials* partials = nullptr;
  const Placement* placement = nullptr;
};

/// What `op` computes, at the insertion point of `builder`, for each instance of what is around it: each instance's
/// devices split further along the op's manual axes, each part runs the body on its tiles, and the instance's results
/// are joined of theirs. `operands` and the results: lanes over `around`. INVALID_ARGUMENT when the body's types are
/// not parts of the operands'.
Result<std::vector<Lanes>> ExpandManualComputation(mlir::OpBuilder& builder, sdy::ManualComputationOp op,
                                                   const std::vector<Lanes>& operands, const Instances& around,
                                                   const UnreducedValues& unreduced = {});

/// The part of `whole` that tile `position` of `tiles` is; all of a token. Tiles divide the dims.
mlir::Value CutTile(mlir::OpBuilder& builder, mlir::Location loc, mlir::Value whole, const Dims& tiles,
                    const Dims& position);

/// The array whose tile at each position is parts.at(position): there is one for each.
mlir::Value JoinTiles(mlir::OpBuilder& builder, mlir::Location loc,
                      const std::map<std::vector<int64_t>, mlir::Value>& parts, const Dims& tiles,
                      std::vector<int64_t> prefix = {});

/// As MLIR prints it.
std::string ToText(mlir::Type type);

}  // namespace tenon::compiler
