// All StableHLO ops; mlir-tblgen writes their classes from this file, in shards.
include "tenon/dialect/stablehlo/ops_elementwise.td"
include "tenon/dialect/stablehlo/ops_movement.td"
include "tenon/dialect/stablehlo/ops_linalg.td"
include "tenon/dialect/stablehlo/ops_region.td"
include "tenon/dialect/stablehlo/ops_process.td"
