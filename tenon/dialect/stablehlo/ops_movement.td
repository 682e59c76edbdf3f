// Ops that make, move and re-arrange elements, with static attributes or with operands for the shape.
#ifndef TENON_DIALECT_STABLEHLO_OPS_MOVEMENT_TD
#define TENON_DIALECT_STABLEHLO_OPS_MOVEMENT_TD

include "mlir/IR/OpAsmInterface.td"
include "tenon/dialect/stablehlo/attributes.td"

def Stablehlo_ConstantOp
    : StablehloOp<"constant", [ConstantLike, Pure, DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let arguments = (ins ElementsAttr:$value);
  let results = (outs T_StaticAny:$output);
  let hasCustomAssemblyFormat = 1;
  let hasFolder = 1;
  // Result type = type of the value (another one is only wanted for quantized constants).
  let builders = [OpBuilder<(ins "::mlir::ElementsAttr":$value), [{
    build($_builder, $_state, value.getType(), value);
  }]>];
}

def Stablehlo_IotaOp : StablehloOp<"iota", [Pure]> {
  let arguments = (ins I64Attr:$iota_dimension);
  let results = (outs T_StaticIota:$output);
  let assemblyFormat = "`dim` `=` $iota_dimension attr-dict `:` type($output)";
}

def Stablehlo_BitcastConvertOp : StablehloOp<"bitcast_convert", [Pure]> {
  let arguments = (ins T_Any:$operand);
  let results = (outs T_Any:$result);
  let assemblyFormat = "$operand attr-dict `:` functional-type(operands, results)";
}

def Stablehlo_BroadcastInDimOp : StablehloOp<"broadcast_in_dim", [Pure]> {
  let arguments = (ins T_Any:$operand, DenseI64ArrayAttr:$broadcast_dimensions);
  let results = (outs T_StaticOrBounded:$result);
  let assemblyFormat = "$operand `,` `dims` `=` $broadcast_dimensions attr-dict `:` functional-type(operands, results)";
}

def Stablehlo_BroadcastOp : CheckedInferredOp<"broadcast", [Pure]> {
  let arguments = (ins T_Plain:$operand, DenseI64ArrayAttr:$broadcast_sizes);
  let results = (outs T_Any:$result);
  let assemblyFormat = "$operand `,` `sizes` `=` $broadcast_sizes attr-dict `:` functional-type(operands, results)";
}

def Stablehlo_ReshapeOp : StablehloOp<"reshape", [Pure]> {
  let arguments = (ins T_Any:$operand);
  let results = (outs T_StaticOrBounded:$result);
  let assemblyFormat = "$operand attr-dict `:` functional-type(operands, results)";
}

def Stablehlo_TransposeOp : CheckedInferredOp<"transpose", [Pure]> {
  let arguments = (ins T_Any:$operand, DenseI64ArrayAttr:$permutation);
  let results = (outs T_Any:$result);
  let assemblyFormat = "$operand `,` `dims` `=` $permutation attr-dict `:` functional-type(operands, results)";
}

def Stablehlo_ReverseOp : CheckedInferredOp<"reverse", [Pure]> {
  let arguments = (ins T_Plain:$operand, DenseI64ArrayAttr:$dimensions);
  let results = (outs T_Plain:$result);
  let assemblyFormat = [{
    $operand `,` `dims` `=` $dimensions attr-dict `:` custom<SameOrFunctionType>(type($operand), type($result))
  }];
}

def Stablehlo_ConcatenateOp : CheckedInferredOp<"concatenate", [Pure]> {
  let arguments = (ins Variadic<T_Plain>:$inputs, I64Attr:$dimension);
  let results = (outs T_Plain:$result);
  let assemblyFormat = [{
    custom<OperandsWithCommas>($inputs) `dim` `=` $dimension attr-dict `:` functional-type(operands, results)
  }];
}

def Stablehlo_SliceOp : CheckedInferredOp<"slice", [Pure]> {
  let arguments = (ins T_Plain:$operand, DenseI64ArrayAttr:$start_indices, DenseI64ArrayAttr:$limit_indices,
                       DenseI64ArrayAttr:$strides);
  let results = (outs T_Plain:$result);
  let assemblyFormat = [{
    $operand custom<SliceRanges>($start_indices, $limit_indices, $strides) attr-dict `:`
      functional-type(operands, results)
  }];
}

def Stablehlo_PadOp : CheckedInferredOp<"pad", [Pure]> {
  let arguments = (ins T_Plain:$operand, T_PlainScalar:$padding_value, DenseI64ArrayAttr:$edge_padding_low,
                       DenseI64ArrayAttr:$edge_padding_high, DenseI64ArrayAttr:$interior_padding);
  let results = (outs T_Plain:$result);
  let assemblyFormat = [{
    $operand `,` $padding_value `,` `low` `=` $edge_padding_low `,` `high` `=` $edge_padding_high `,`
      `interior` `=` $interior_padding attr-dict `:` functional-type(operands, results)
  }];
}

def Stablehlo_DynamicSliceOp : CheckedInferredOp<"dynamic_slice", [Pure]> {
  let arguments = (ins T_Plain:$operand, Variadic<T_IntScalar>:$start_indices, DenseI64ArrayAttr:$slice_sizes);
  let results = (outs T_Plain:$result);
  let assemblyFormat = [{
    $operand `,` custom<OperandsWithCommas>($start_indices) `sizes` `=` $slice_sizes attr-dict `:`
      functional-type(operands, results)
  }];
}

def Stablehlo_DynamicUpdateSliceOp : CheckedInferredOp<"dynamic_update_slice", [Pure]> {
  let arguments = (ins T_Plain:$operand, T_Plain:$update, Variadic<T_IntScalar>:$start_indices);
  let results = (outs T_Plain:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Stablehlo_GatherOp : CheckedInferredOp<"gather", [Pure]> {
  let arguments = (ins T_Plain:$operand, T_Int:$start_indices, Stablehlo_GatherDimensionNumbers:$dimension_numbers,
                       DenseI64ArrayAttr:$slice_sizes, DefaultValuedOptionalAttr<BoolAttr, "false">:$indices_are_sorted);
  let results = (outs T_Plain:$result);
}

def Stablehlo_TorchIndexSelectOp : StablehloOp<"torch_index_select", [Pure]> {
  let arguments = (ins T_Plain:$operand, T_Plain:$index, I64Attr:$dim, I64Attr:$batch_dims);
  let results = (outs T_Plain:$result);
}

def Stablehlo_GetDimensionSizeOp : CheckedInferredOp<"get_dimension_size", [Pure]> {
  let arguments = (ins T_Any:$operand, I64Attr:$dimension);
  let results = (outs T_I32Scalar:$result);
  let assemblyFormat = "$operand `,` `dim` `=` $dimension attr-dict `:` functional-type(operands, results)";
}

def Stablehlo_SetDimensionSizeOp : StablehloOp<"set_dimension_size", [NoMemoryEffect]> {
  let arguments = (ins T_Plain:$operand, T_I32:$size, I64Attr:$dimension);
  let results = (outs T_Plain:$result);
  let assemblyFormat = "$operand `,` $size `,` `dim` `=` $dimension attr-dict `:` functional-type(operands, results)";
}

//===--- Shapes as operands ---===//

def Stablehlo_DynamicBroadcastInDimOp : StablehloOp<"dynamic_broadcast_in_dim", [NoMemoryEffect]> {
  let arguments = (ins T_Any:$operand, T_StaticDimVector:$output_dimensions, DenseI64ArrayAttr:$broadcast_dimensions,
                       OptionalAttr<DenseI64ArrayAttr>:$known_expanding_dimensions,
                       OptionalAttr<DenseI64ArrayAttr>:$known_nonexpanding_dimensions);
  let results = (outs T_Any:$result);
  let assemblyFormat = [{
    $operand `,` $output_dimensions `,` `dims` `=` $broadcast_dimensions attr-dict `:`
      functional-type(operands, results)
  }];
}

def Stablehlo_DynamicReshapeOp : StablehloOp<"dynamic_reshape", [NoMemoryEffect]> {
  let arguments = (ins T_Any:$operand, T_StaticDimVector:$output_shape);
  let results = (outs T_Any:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Stablehlo_DynamicIotaOp : StablehloOp<"dynamic_iota", [NoMemoryEffect]> {
  let arguments = (ins T_StaticDimVector:$output_shape, I64Attr:$iota_dimension);
  let results = (outs T_Plain:$result);
  let assemblyFormat = "$output_shape `,` `dim` `=` $iota_dimension attr-dict `:` functional-type(operands, results)";
}

def Stablehlo_DynamicPadOp : StablehloOp<"dynamic_pad", [NoMemoryEffect]> {
  let arguments = (ins T_Plain:$operand, T_PlainScalar:$padding_value, T_StaticDimVector:$edge_padding_low,
                       T_StaticDimVector:$edge_padding_high, T_StaticDimVector:$interior_padding);
  let results = (outs T_Plain:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Stablehlo_DynamicGatherOp : StablehloOp<"dynamic_gather", [NoMemoryEffect]> {
  let arguments = (ins T_Plain:$operand, T_Int:$start_indices, StaticTensorOfRank<1, [KInt]>:$slice_sizes,
                       Stablehlo_GatherDimensionNumbers:$dimension_numbers,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$indices_are_sorted);
  let results = (outs T_Plain:$result);
}

def Stablehlo_RealDynamicSliceOp : StablehloOp<"real_dynamic_slice", [NoMemoryEffect]> {
  let arguments = (ins T_Plain:$operand, T_DimVector:$start_indices, T_DimVector:$limit_indices, T_DimVector:$strides);
  let results = (outs T_Plain:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

#endif
