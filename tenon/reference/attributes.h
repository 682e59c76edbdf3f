#pragma once

// The dialect's record attributes as plain structs. Only attributes.cc needs the dialect's headers for them.

#include <string>
#include <vector>

#include "mlir/IR/Operation.h"
#include "tenon/base/shape.h"
#include "tenon/reference/kernels.h"
#include "tenon/reference/reference.h"

namespace tenon::reference {

struct DotDims {
  Dims lhs_batch, rhs_batch, lhs_contract, rhs_contract;
};
struct RaggedDotDims {
  DotDims dot;
  Dims lhs_ragged, rhs_group;
};
struct GatherDims {
  Dims offset, collapsed, operand_batch, start_batch, start_map;
  int64_t index_vector_dim = 0;
};
struct ScatterDims {
  Dims window, inserted, input_batch, scatter_batch, to_operand;
  int64_t index_vector_dim = 0;
};
struct ConvDims {
  int64_t input_batch = 0, input_feature = 0, kernel_input_feature = 0, kernel_output_feature = 0, output_batch = 0,
          output_feature = 0;
  Dims input_spatial, kernel_spatial, output_spatial;
};
enum class FftKind { kFft, kIfft, kRfft, kIrfft };
enum class SolveKind { kPlain, kTranspose, kAdjoint };
enum class RngKind { kDefault, kThreeFry, kPhilox };

/// What an elementwise operation's attributes say (comparison direction, precision ...).
KernelAttributes KernelAttributesOf(mlir::Operation* op);
DotDims DotDimsOf(mlir::Operation* op);
RaggedDotDims RaggedDotDimsOf(mlir::Operation* op);
GatherDims GatherDimsOf(mlir::Operation* op);
ScatterDims ScatterDimsOf(mlir::Operation* op);
ConvDims ConvDimsOf(mlir::Operation* op);
FftKind FftKindOf(mlir::Operation* op);
SolveKind SolveKindOf(mlir::Operation* op);
RngKind RngKindOf(mlir::Operation* op);
/// Whether an rng operation is to draw from the normal distribution.
bool IsNormalDistribution(mlir::Operation* op);
/// 0 when there is no channel.
int64_t ChannelOf(mlir::Operation* op);
/// (result, operand) pairs of output_operand_aliases.
std::vector<std::pair<int64_t, int64_t>> AliasesOf(mlir::Operation* op);
/// The process groups that replica_groups states, -1 left out; none when it is empty (one group of everybody).
Result<std::vector<Dims>> ReplicaGroupsOf(mlir::Operation* op);
/// A dictionary attribute for handlers of custom calls.
Attributes AttributesOfDictionary(mlir::DictionaryAttr dictionary);

}  // namespace tenon::reference
