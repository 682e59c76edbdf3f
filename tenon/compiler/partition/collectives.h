#pragma once

#include <utility>
#include <vector>

#include "tenon/compiler/partition/expand.h"

namespace tenon::compiler {

/// Whether ExpandCollective takes the op.
bool IsCollective(mlir::Operation* op);

/// The instances of each group of a collective (no permutation), each in one of them: devices that one instance stands
/// for count once. INVALID_ARGUMENT for groups that name an instance twice, miss one,
/// or have another size than the op's types are for; those of a broadcast may miss some.
Result<std::vector<std::vector<int64_t>>> InstanceGroups(mlir::Operation* op, const Instances& instances);
/// The instances between which a pair of devices of a permutation moves data. INVALID_ARGUMENT for devices that there
/// are none of.
Result<std::pair<int64_t, int64_t>> EndsOf(const std::vector<int64_t>& pair, const Instances& instances);

/// combine(x, y), element by element, by the region of a collective or reduction; added where it has none.
mlir::Value Combine(mlir::OpBuilder& builder, mlir::Operation* op, mlir::Value x, mlir::Value y);

/// Part `index` of `count` equal ones along `dim`.
mlir::Value Part(mlir::OpBuilder& builder, mlir::Location loc, mlir::Value x, int64_t dim, int64_t index,
                 int64_t count);

/// A collective as ordinary ops between the lanes of its operands; the lanes of each result. INVALID_ARGUMENT for
/// groups that miss an instance or name one twice.
Result<std::vector<Lanes>> ExpandCollective(mlir::OpBuilder& builder, mlir::Operation* op,
                                            const std::vector<Lanes>& operands, const Instances& instances);

}  // namespace tenon::compiler
