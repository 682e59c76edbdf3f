// Ops with regions: control flow, reductions, windows, sort, scatter. Regions may capture values from above.
#ifndef TENON_DIALECT_STABLEHLO_OPS_REGION_TD
#define TENON_DIALECT_STABLEHLO_OPS_REGION_TD

include "mlir/IR/OpAsmInterface.td"
include "tenon/dialect/stablehlo/attributes.td"

defvar RegionTraits = [RecursiveMemoryEffects, RecursivelySpeculatable, SingleBlockImplicitTerminator<"ReturnOp">];

// Ends regions; go-xla also ends functions with it, so any parent is allowed.
def Stablehlo_ReturnOp : StablehloOp<"return", [Pure, Terminator]> {
  let arguments = (ins Variadic<T_Carried>:$results);
  let assemblyFormat = "$results attr-dict (`:` type($results)^)?";
}

def Stablehlo_IfOp : StablehloOp<"if", RegionTraits> {
  let arguments = (ins T_Bool:$pred);
  let regions = (region SizedRegion<1>:$true_branch, SizedRegion<1>:$false_branch);
  let results = (outs Variadic<T_TensorOrToken>:$results);
}

def Stablehlo_CaseOp : StablehloOp<"case", RegionTraits> {
  let arguments = (ins T_I32:$index);
  let regions = (region VariadicRegion<SizedRegion<1>>:$branches);
  let results = (outs Variadic<T_TensorOrToken>:$results);
}

def Stablehlo_WhileOp
    : StablehloOp<"while", !listconcat(RegionTraits,
                                       [DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>])> {
  let arguments = (ins Variadic<T_Carried>:$operand);
  let regions = (region SizedRegion<1>:$cond, SizedRegion<1>:$body);
  let results = (outs Variadic<T_Carried>:$results);
  let hasCustomAssemblyFormat = 1;
}

def Stablehlo_ReduceOp : StablehloOp<"reduce", !listconcat(RegionTraits, [SameVariadicOperandSize])> {
  let arguments = (ins Variadic<T_Plain>:$inputs, Variadic<T_Plain>:$init_values, DenseI64ArrayAttr:$dimensions);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<T_Plain>:$results);
  let hasCustomAssemblyFormat = 1;
}

def Stablehlo_ReduceWindowOp : StablehloOp<"reduce_window", !listconcat(RegionTraits, [SameVariadicOperandSize])> {
  let arguments = (ins Variadic<T_Plain>:$inputs, Variadic<T_Plain>:$init_values, DenseI64ArrayAttr:$window_dimensions,
                       OptionalAttr<DenseI64ArrayAttr>:$window_strides, OptionalAttr<DenseI64ArrayAttr>:$base_dilations,
                       OptionalAttr<DenseI64ArrayAttr>:$window_dilations, OptionalAttr<I64ElementsAttr>:$padding);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<T_Plain>:$results);
}

def Stablehlo_MapOp : StablehloOp<"map", RegionTraits> {
  let arguments = (ins Variadic<T_Plain>:$inputs, DenseI64ArrayAttr:$dimensions);
  let regions = (region SizedRegion<1>:$computation);
  let results = (outs T_Plain:$result);
}

def Stablehlo_SortOp : StablehloOp<"sort", RegionTraits> {
  let arguments = (ins Variadic<T_Plain>:$inputs, DefaultValuedOptionalAttr<I64Attr, "-1">:$dimension,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$is_stable);
  let regions = (region SizedRegion<1>:$comparator);
  let results = (outs Variadic<T_Plain>:$results);
}

def Stablehlo_ScatterOp : StablehloOp<"scatter", !listconcat(RegionTraits, [SameVariadicOperandSize])> {
  let arguments = (ins Variadic<T_Plain>:$inputs, T_AnyInt:$scatter_indices, Variadic<T_Plain>:$updates,
                       Stablehlo_ScatterDimensionNumbers:$scatter_dimension_numbers,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$indices_are_sorted,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$unique_indices);
  let regions = (region SizedRegion<1>:$update_computation);
  let results = (outs Variadic<T_Plain>:$results);
}

def Stablehlo_SelectAndScatterOp : StablehloOp<"select_and_scatter", RegionTraits> {
  let arguments = (ins T_Plain:$operand, T_Plain:$source, T_Plain:$init_value,
                       OptionalAttr<DenseI64ArrayAttr>:$window_dimensions,
                       OptionalAttr<DenseI64ArrayAttr>:$window_strides, OptionalAttr<I64ElementsAttr>:$padding);
  let regions = (region SizedRegion<1>:$select, SizedRegion<1>:$scatter);
  let results = (outs T_Plain:$result);
}

#endif
