// Ops that reach outside the tensor program: collectives, channels, tokens, calls, tuples.
#ifndef TENON_DIALECT_STABLEHLO_OPS_PROCESS_TD
#define TENON_DIALECT_STABLEHLO_OPS_PROCESS_TD

include "tenon/dialect/stablehlo/attributes.td"

defvar ComputationTraits = [SingleBlockImplicitTerminator<"ReturnOp">];

//===--- Collectives ---===//

def Stablehlo_AllGatherOp : StablehloOp<"all_gather"> {
  let arguments = (ins Variadic<T_Plain>:$operands, I64Attr:$all_gather_dim, Stablehlo_ReplicaGroups:$replica_groups,
                       OptionalAttr<Stablehlo_ChannelHandle>:$channel_handle, UnitAttr:$use_global_device_ids);
  let results = (outs Variadic<T_Plain>:$results);
}

def Stablehlo_AllReduceOp : StablehloOp<"all_reduce", ComputationTraits> {
  let arguments = (ins Variadic<T_Plain>:$operands, Stablehlo_ReplicaGroups:$replica_groups,
                       OptionalAttr<Stablehlo_ChannelHandle>:$channel_handle, UnitAttr:$use_global_device_ids);
  let regions = (region SizedRegion<1>:$computation);
  let results = (outs Variadic<T_Plain>:$results);
}

def Stablehlo_AllToAllOp : StablehloOp<"all_to_all"> {
  let arguments = (ins Variadic<T_Plain>:$operands, I64Attr:$split_dimension, I64Attr:$concat_dimension,
                       I64Attr:$split_count, Stablehlo_ReplicaGroups:$replica_groups,
                       OptionalAttr<Stablehlo_ChannelHandle>:$channel_handle);
  let results = (outs Variadic<T_Plain>:$results);
}

def Stablehlo_CollectiveBroadcastOp : StablehloOp<"collective_broadcast"> {
  let arguments = (ins Variadic<T_Plain>:$operands, Stablehlo_ReplicaGroups:$replica_groups,
                       OptionalAttr<Stablehlo_ChannelHandle>:$channel_handle, UnitAttr:$has_dynamic_root);
  let results = (outs Variadic<T_Plain>:$results);
}

def Stablehlo_CollectivePermuteOp : CheckedInferredOp<"collective_permute"> {
  let arguments = (ins T_Plain:$operand, I64ElementsAttr:$source_target_pairs,
                       OptionalAttr<Stablehlo_ChannelHandle>:$channel_handle);
  let results = (outs T_Plain:$result);
}

def Stablehlo_CollectiveReduceOp : StablehloOp<"collective_reduce", ComputationTraits> {
  let arguments = (ins Variadic<T_Plain>:$operands, Stablehlo_ReplicaGroups:$replica_groups,
                       OptionalAttr<Stablehlo_ChannelHandle>:$channel_handle, UnitAttr:$use_global_device_ids,
                       UnitAttr:$has_dynamic_root);
  let regions = (region SizedRegion<1>:$computation);
  let results = (outs Variadic<T_Plain>:$results);
}

def Stablehlo_ReduceScatterOp : StablehloOp<"reduce_scatter", ComputationTraits> {
  let arguments = (ins T_Plain:$operand, I64Attr:$scatter_dimension, Stablehlo_ReplicaGroups:$replica_groups,
                       OptionalAttr<Stablehlo_ChannelHandle>:$channel_handle, UnitAttr:$use_global_device_ids);
  let regions = (region SizedRegion<1>:$computation);
  let results = (outs T_Plain:$result);
}

def Stablehlo_CrossReplicaSumOp : InferredOp<"cross-replica-sum"> {
  let arguments = (ins T_Plain:$operand, I64ElementsAttr:$replica_groups);
  let results = (outs T_Plain:$result);
}

def Stablehlo_PartitionIdOp : InferredOp<"partition_id", [Pure]> {
  let results = (outs T_Ui32Scalar:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Stablehlo_ReplicaIdOp : InferredOp<"replica_id", [Pure]> {
  let results = (outs T_Ui32Scalar:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Stablehlo_AsyncStartOp : StablehloOp<"async_start", !listconcat(ComputationTraits, [IsolatedFromAbove])> {
  let arguments = (ins Variadic<T_Plain>:$operands);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Stablehlo_Future:$result);
}

def Stablehlo_AsyncDoneOp : StablehloOp<"async_done"> {
  let arguments = (ins Stablehlo_Future:$operand);
  let results = (outs Variadic<T_Plain>:$results);
}

//===--- Tokens and channels ---===//

def Stablehlo_CreateTokenOp : StablehloOp<"create_token", [Pure]> {
  let results = (outs Stablehlo_Token:$output);
  let hasVerifier = 0;
  let assemblyFormat = "attr-dict `:` type($output)";
}

def Stablehlo_AfterAllOp : StablehloOp<"after_all", [Pure]> {
  let arguments = (ins Variadic<Stablehlo_Token>:$inputs);
  let results = (outs Stablehlo_Token:$result);
  let hasVerifier = 0;
  let assemblyFormat = "$inputs attr-dict `:` custom<VariadicSameType>(ref($inputs), type($inputs), type($result))";
}

def Stablehlo_InfeedOp : StablehloOp<"infeed"> {
  let arguments = (ins Stablehlo_Token:$token, DefaultValuedOptionalAttr<StrAttr, "\"\"">:$infeed_config,
                       OptionalAttr<ArrayAttr>:$layout);
  let results = (outs Variadic<T_StaticOrToken>:$results);
}

def Stablehlo_OutfeedOp : StablehloOp<"outfeed"> {
  let arguments = (ins Variadic<T_Any>:$inputs, Stablehlo_Token:$token,
                       DefaultValuedOptionalAttr<StrAttr, "\"\"">:$outfeed_config);
  let results = (outs Stablehlo_Token:$result);
  let hasVerifier = 0;
}

def Stablehlo_RecvOp : StablehloOp<"recv"> {
  let arguments = (ins Stablehlo_Token:$token, Stablehlo_ChannelHandle:$channel_handle,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$is_host_transfer,
                       OptionalAttr<I64ElementsAttr>:$source_target_pairs);
  let results = (outs Variadic<T_StaticOrToken>:$results);
}

def Stablehlo_SendOp : StablehloOp<"send"> {
  let arguments = (ins Variadic<T_Any>:$inputs, Stablehlo_Token:$token, Stablehlo_ChannelHandle:$channel_handle,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$is_host_transfer,
                       OptionalAttr<I64ElementsAttr>:$source_target_pairs);
  let results = (outs Stablehlo_Token:$result);
}

//===--- Calls, tuples, barriers ---===//

def Stablehlo_CustomCallOp : StablehloOp<"custom_call", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let arguments = (ins Variadic<T_CustomCallValue>:$inputs, StrAttr:$call_target_name,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$has_side_effect,
                       OptionalAttr<Stablehlo_BackendConfig>:$backend_config,
                       DefaultValuedOptionalAttr<Stablehlo_CustomCallApiVersion,
                           "::tenon::stablehlo::CustomCallApiVersion::API_VERSION_ORIGINAL">:$api_version,
                       DefaultValuedOptionalAttr<Stablehlo_Symbols, "{}">:$called_computations,
                       OptionalAttr<Stablehlo_Layouts>:$operand_layouts,
                       OptionalAttr<Stablehlo_Layouts>:$result_layouts,
                       DefaultValuedOptionalAttr<Stablehlo_Aliases, "{}">:$output_operand_aliases,
                       OptionalAttr<Stablehlo_Tilings>:$result_tilings);
  let results = (outs Variadic<T_CustomCallValue>:$results);
  let assemblyFormat = [{
    custom<CallTarget>($call_target_name) `(` $inputs `)` attr-dict `:` functional-type(operands, results)
  }];
}

def Stablehlo_CompositeOp : StablehloOp<"composite", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let arguments = (ins Variadic<T_TupleValue>:$inputs, StrAttr:$name,
                       DefaultValuedOptionalAttr<DictionaryAttr, "{}">:$composite_attributes,
                       FlatSymbolRefAttr:$decomposition, DefaultValuedOptionalAttr<I32Attr, "0">:$version);
  let regions = (region VariadicRegion<AnyRegion>:$composite_regions);
  let results = (outs Variadic<T_TupleValue>:$results);
  let assemblyFormat = [{
    $name $inputs (`(` $composite_regions^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
}

def Stablehlo_OptimizationBarrierOp : InferredOp<"optimization_barrier", [Pure]> {
  let arguments = (ins Variadic<T_PlainOrToken>:$operand);
  let results = (outs Variadic<T_PlainOrToken>:$results);
  let assemblyFormat = [{
    attr-dict ($operand^ `:` custom<PairwiseTypes>(type($operand), type($results))):(`(` `)`)?
  }];
}

def Stablehlo_TupleOp : InferredOp<"tuple", [Pure]> {
  let arguments = (ins Variadic<T_TupleValue>:$val);
  let results = (outs T_Tuple:$result);
  let assemblyFormat = "$val attr-dict `:` custom<TupleOperandTypes>(type($val), type($result))";
}

def Stablehlo_GetTupleElementOp : CheckedInferredOp<"get_tuple_element", [Pure]> {
  let arguments = (ins T_Tuple:$operand, I32Attr:$index);
  let results = (outs T_TupleValue:$result);
  let assemblyFormat = "$operand `[` $index `]` attr-dict `:` functional-type(operands, results)";
}

#endif
