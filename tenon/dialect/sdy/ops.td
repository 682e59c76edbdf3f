// Operations of Shardy. Programs bring mesh, sharding_constraint, manual_computation and return; the others are written by tools.
#ifndef TENON_DIALECT_SDY_OPS_TD
#define TENON_DIALECT_SDY_OPS_TD

include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "tenon/dialect/sdy/base.td"

class SdyOp<string mnemonic, list<Trait> traits = []> : Op<SdyDialect, mnemonic, traits>;

// One tensor in, the same tensor out.
class SdyIdentityOp<string mnemonic, dag attributes, list<Trait> traits = []>
    : SdyOp<mnemonic, !listconcat([SameOperandsAndResultType], traits)> {
  let arguments = !con((ins AnyType:$input), attributes);
  let results = (outs AnyType:$result);
}

def Sdy_MeshOp : SdyOp<"mesh", [Symbol]> {
  let arguments = (ins SymbolNameAttr:$sym_name, Sdy_Mesh:$mesh);
  let assemblyFormat = "$sym_name `=` $mesh attr-dict";
  let hasVerifier = 1;
}

def Sdy_ShardingConstraintOp : SdyIdentityOp<"sharding_constraint", (ins Sdy_TensorSharding:$sharding)> {
  let assemblyFormat = "$input $sharding attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Sdy_ReshardOp : SdyIdentityOp<"reshard", (ins Sdy_TensorSharding:$sharding), [Pure]> {
  let assemblyFormat = "$input $sharding attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Sdy_ShardingGroupOp : SdyOp<"sharding_group"> {
  let arguments = (ins AnyType:$input, I64Attr:$group_id);
  let assemblyFormat = "$input `group_id` `` `=` `` $group_id attr-dict `:` type($input)";
}

def Sdy_PropagationBarrierOp
    : SdyIdentityOp<"propagation_barrier", (ins Sdy_PropagationDirectionAttr:$allowed_direction), [Pure]> {
  let assemblyFormat = "$input `allowed_direction` `` `=` `` $allowed_direction attr-dict `:` type($input)";
}

def Sdy_DataFlowEdgeOp : SdyIdentityOp<"data_flow_edge", (ins OptionalAttr<Sdy_TensorSharding>:$sharding), [Pure]> {
  let assemblyFormat = "$input (`sharding` `` `=` `` $sharding^)? attr-dict `:` type($result)";
}

def Sdy_FuncDataFlowEdgeOp
    : SdyIdentityOp<"func_data_flow_edge", (ins OptionalAttr<Sdy_TensorSharding>:$sharding), [Pure]> {
  let assemblyFormat = "$input (`sharding` `` `=` `` $sharding^)? attr-dict `:` type($result)";
}

def Sdy_ConstantOp : SdyOp<"constant", [Pure, AllTypesMatch<["value", "output"]>]> {
  let arguments = (ins ElementsAttr:$value);
  let results = (outs AnyType:$output);
  let assemblyFormat = "attr-dict $value";
}

def Sdy_ReturnOp : SdyOp<"return", [Pure, Terminator]> {
  let arguments = (ins Variadic<AnyType>:$results);
  let assemblyFormat = "attr-dict ($results^ `:` type($results))?";
}

def Sdy_ManualComputationOp
    : SdyOp<"manual_computation", [IsolatedFromAbove, SingleBlock, RecursiveMemoryEffects]> {
  let arguments = (ins Variadic<AnyType>:$tensors, Sdy_TensorShardingPerValue:$in_shardings,
                       Sdy_TensorShardingPerValue:$out_shardings, Sdy_ManualAxes:$manual_axes);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Sdy_NamedComputationOp
    : SdyOp<"named_computation", [IsolatedFromAbove, SingleBlock, RecursiveMemoryEffects]> {
  let arguments = (ins StrAttr:$name, Variadic<AnyType>:$operands,
                       OptionalAttr<Sdy_TensorShardingPerValue>:$in_shardings,
                       OptionalAttr<Sdy_TensorShardingPerValue>:$out_shardings);
  let results = (outs Variadic<AnyType>);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
}

class SdyCollective<string mnemonic, dag attributes, string lead>
    : SdyOp<mnemonic, [Pure, SameOperandsAndResultType]> {
  let arguments = !con((ins AnyType:$tensor), attributes, (ins Sdy_TensorSharding:$out_sharding));
  let results = (outs AnyType:$result);
  let assemblyFormat = lead # " $tensor `out_sharding` `` `=` `` $out_sharding attr-dict `:` type($result)";
}

def Sdy_AllGatherOp : SdyCollective<"all_gather", (ins Sdy_ListOfAxisRefLists:$gathering_axes), "$gathering_axes">;
def Sdy_AllSliceOp : SdyCollective<"all_slice", (ins Sdy_ListOfAxisRefLists:$slicing_axes), "$slicing_axes">;
def Sdy_AllToAllOp : SdyCollective<"all_to_all", (ins Sdy_AllToAllParamList:$params), "$params">;
def Sdy_CollectivePermuteOp : SdyCollective<"collective_permute", (ins), "">;
def Sdy_ReduceScatterOp
    : SdyCollective<"reduce_scatter", (ins Sdy_ListOfAxisRefLists:$reduce_scatter_axes), "$reduce_scatter_axes">;
def Sdy_ShardedToUnreducedOp
    : SdyCollective<"sharded_to_unreduced", (ins Sdy_ListOfAxisRefLists:$axes), "$axes">;
def Sdy_ReplicatedToUnreducedOp
    : SdyCollective<"replicated_to_unreduced", (ins Sdy_AxisRefList:$axes), "$axes">;
def Sdy_AllReduceOp
    : SdyCollective<"all_reduce",
                    (ins Sdy_AxisRefList:$reduction_axes,
                         DefaultValuedAttr<Sdy_ReductionOpAttr, "::tenon::sdy::ReductionOp::SUM">:$reduction_op),
                    "custom<Reduction>($reduction_op, $reduction_axes)">;

#endif
