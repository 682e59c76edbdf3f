// CHLO: functions above StableHLO that clients may send as text; implicit broadcasting, special functions.
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def ChloDialect : Dialect {
  let name = "chlo";
  let cppNamespace = "::tenon::chlo";
  let summary = "Special functions and implicitly broadcasting ops";
  let useDefaultAttributePrinterParser = 1;
}

//===--- Attributes ---===//

class ChloEnum<string name, string text, list<I32EnumAttrCase> cases> : I32EnumAttr<name, text, cases> {
  let genSpecializedAttr = 0;
  let cppNamespace = "::tenon::chlo";
}

def Chlo_ComparisonDirection : ChloEnum<"ComparisonDirection", "which comparison", [
  I32EnumAttrCase<"EQ", 0>, I32EnumAttrCase<"NE", 1>, I32EnumAttrCase<"GE", 2>, I32EnumAttrCase<"GT", 3>,
  I32EnumAttrCase<"LE", 4>, I32EnumAttrCase<"LT", 5>]>;
def Chlo_ComparisonDirectionAttr : EnumAttr<ChloDialect, Chlo_ComparisonDirection, "comparison_direction">;

def Chlo_ComparisonType : ChloEnum<"ComparisonType", "how operands of a comparison are read", [
  I32EnumAttrCase<"NOTYPE", 0>, I32EnumAttrCase<"FLOAT", 1>, I32EnumAttrCase<"TOTALORDER", 2>,
  I32EnumAttrCase<"SIGNED", 3>, I32EnumAttrCase<"UNSIGNED", 4>]>;
def Chlo_ComparisonTypeAttr : EnumAttr<ChloDialect, Chlo_ComparisonType, "comparison_type">;

def Chlo_Precision : ChloEnum<"Precision", "wanted precision of a product", [
  I32EnumAttrCase<"DEFAULT", 0>, I32EnumAttrCase<"HIGH", 1>, I32EnumAttrCase<"HIGHEST", 2>]>;
def Chlo_PrecisionAttr : EnumAttr<ChloDialect, Chlo_Precision, "precision">;
def Chlo_PrecisionConfig : TypedArrayAttrBase<Chlo_PrecisionAttr, "array of precisions">;

def ChloDims : ArrayRefParameter<"int64_t", "dimensions">;

def Chlo_RaggedDotDimensionNumbers : AttrDef<ChloDialect, "RaggedDotDimensionNumbers"> {
  let mnemonic = "ragged_dot";
  let parameters = (ins ChloDims:$lhsBatchingDimensions, ChloDims:$rhsBatchingDimensions,
                        ChloDims:$lhsContractingDimensions, ChloDims:$rhsContractingDimensions,
                        ChloDims:$lhsRaggedDimensions, ChloDims:$rhsGroupDimensions);
  let hasCustomAssemblyFormat = 1;
}

//===--- Operands ---===//

// Tensors of any rank, unranked ones too; kinds are those of dialect/stablehlo/types.h.
class AnyTensorOf<int kinds, string what>
    : Type<CPred<"::tenon::chlo::IsTensorOf($_self, " # kinds # "u)">, "a tensor of " # what, "::mlir::TensorType">;
class RankedOf<int kinds, string what>
    : Type<CPred<"::tenon::stablehlo::IsTensorOf($_self, " # kinds # "u)">, "a ranked tensor of " # what,
           "::mlir::RankedTensorType">;

def C_Float : AnyTensorOf<1, "floating-point">;
def C_FloatComplex : AnyTensorOf<17, "floating-point or complex">;
def C_Complex : AnyTensorOf<16, "complex">;
def C_Bool : AnyTensorOf<2, "i1">;
def C_IntBool : AnyTensorOf<6, "i1 or integer">;
def C_Any : AnyTensorOf<119, "any element type">;
def C_Int : RankedOf<4, "integer">;
def C_Pred : RankedOf<2, "i1">;

class ChloOp<string mnemonic, list<Trait> traits = []> : Op<ChloDialect, mnemonic, traits>;

//===--- Elementwise functions ---===//

class FunctionOp<string mnemonic, Type operandType, Type resultType = operandType>
    : ChloOp<mnemonic, [Pure]> {
  let arguments = (ins operandType:$operand);
  let results = (outs resultType:$result);
  let hasVerifier = 1;
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::verify() { return ::tenon::chlo::VerifySameShapes(getOperation()); }
  }];
}

def Chlo_AcosOp : FunctionOp<"acos", C_FloatComplex>;
def Chlo_AcoshOp : FunctionOp<"acosh", C_FloatComplex>;
def Chlo_AsinAcosKernelOp : FunctionOp<"_asin_acos_kernel", C_Complex>;
def Chlo_AsinOp : FunctionOp<"asin", C_FloatComplex>;
def Chlo_AsinhOp : FunctionOp<"asinh", C_FloatComplex>;
def Chlo_AtanOp : FunctionOp<"atan", C_FloatComplex>;
def Chlo_AtanhOp : FunctionOp<"atanh", C_FloatComplex>;
def Chlo_BesselI1eOp : FunctionOp<"bessel_i1e", C_FloatComplex>;
def Chlo_ConjOp : FunctionOp<"conj", C_FloatComplex>;
def Chlo_CoshOp : FunctionOp<"cosh", C_FloatComplex>;
def Chlo_DigammaOp : FunctionOp<"digamma", C_Float>;
def Chlo_ErfInvOp : FunctionOp<"erf_inv", C_Float>;
def Chlo_ErfOp : FunctionOp<"erf", C_Float>;
def Chlo_ErfcOp : FunctionOp<"erfc", C_Float>;
def Chlo_IsInfOp : FunctionOp<"is_inf", C_Float, C_Bool>;
def Chlo_IsNegInfOp : FunctionOp<"is_neg_inf", C_Float, C_Bool>;
def Chlo_IsPosInfOp : FunctionOp<"is_pos_inf", C_Float, C_Bool>;
def Chlo_LgammaOp : FunctionOp<"lgamma", C_Float>;
def Chlo_SinhOp : FunctionOp<"sinh", C_FloatComplex>;
def Chlo_SquareOp : FunctionOp<"square", C_FloatComplex>;
def Chlo_TanOp : FunctionOp<"tan", C_FloatComplex>;

class PairOp<string mnemonic, dag operands, string format, Type type, list<Trait> traits = []>
    : ChloOp<mnemonic, !listconcat([Pure], traits)> {
  let arguments = operands;
  let results = (outs type:$result);
  let hasVerifier = 1;
  let assemblyFormat = format;
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::verify() { return ::tenon::chlo::VerifySameShapes(getOperation()); }
  }];
}

def Chlo_MulhiOp : PairOp<"mulhi", (ins C_Int:$lhs, C_Int:$rhs),
    "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)", C_Int, [Commutative]>;
def Chlo_NextAfterOp : PairOp<"next_after", (ins C_Float:$x, C_Float:$y),
    "$x `,` $y attr-dict `:` type($x) `,` type($y) `->` type($result)", C_Float>;
def Chlo_PolygammaOp : PairOp<"polygamma", (ins C_Float:$n, C_Float:$x),
    "$n `,` $x attr-dict `:` type($n) `,` type($x) `->` type($result)", C_Float>;
def Chlo_ZetaOp : PairOp<"zeta", (ins C_Float:$x, C_Float:$q),
    "$x `,` $q attr-dict `:` type($x) `,` type($q) `->` type($result)", C_Float>;

//===--- Implicit broadcasting ---===//

class BroadcastOp<string mnemonic, Type operandType, Type resultType = operandType, list<Trait> traits = []>
    : ChloOp<"broadcast_" # mnemonic, !listconcat([Pure], traits)> {
  let arguments = (ins operandType:$lhs, operandType:$rhs, OptionalAttr<DenseI64ArrayAttr>:$broadcast_dimensions);
  let results = (outs resultType:$result);
  let hasVerifier = 1;
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` `(` type($lhs) `,` type($rhs) `)` `->` type($result)";
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::verify() {
      return ::tenon::chlo::VerifyBroadcast(getOperation(), getBroadcastDimensions());
    }
  }];
}

def Chlo_BroadcastAddOp : BroadcastOp<"add", C_Any, C_Any, [Commutative]>;
def Chlo_BroadcastAndOp : BroadcastOp<"and", C_IntBool, C_Any, [Commutative]>;
def Chlo_BroadcastAtan2Op : BroadcastOp<"atan2", C_Any>;
def Chlo_BroadcastComplexOp : BroadcastOp<"complex", C_Float, C_Complex>;
def Chlo_BroadcastDivOp : BroadcastOp<"divide", C_Any>;
def Chlo_BroadcastMaxOp : BroadcastOp<"maximum", C_Any, C_Any, [Commutative]>;
def Chlo_BroadcastMinOp : BroadcastOp<"minimum", C_Any, C_Any, [Commutative]>;
def Chlo_BroadcastMulOp : BroadcastOp<"multiply", C_Any, C_Any, [Commutative]>;
def Chlo_BroadcastNextAfterOp : BroadcastOp<"next_after", C_Any>;
def Chlo_BroadcastOrOp : BroadcastOp<"or", C_IntBool, C_Any, [Commutative]>;
def Chlo_BroadcastPolygammaOp : BroadcastOp<"polygamma", C_Any>;
def Chlo_BroadcastPowOp : BroadcastOp<"power", C_Any>;
def Chlo_BroadcastRemOp : BroadcastOp<"remainder", C_Any>;
def Chlo_BroadcastShiftLeftOp : BroadcastOp<"shift_left", C_Any>;
def Chlo_BroadcastShiftRightArithmeticOp : BroadcastOp<"shift_right_arithmetic", C_Any>;
def Chlo_BroadcastShiftRightLogicalOp : BroadcastOp<"shift_right_logical", C_Any>;
def Chlo_BroadcastSubOp : BroadcastOp<"subtract", C_Any>;
def Chlo_BroadcastXorOp : BroadcastOp<"xor", C_IntBool, C_Any, [Commutative]>;
def Chlo_BroadcastZetaOp : BroadcastOp<"zeta", C_Float>;

def Chlo_BroadcastCompareOp : BroadcastOp<"compare", C_Any, C_Bool> {
  let arguments = (ins C_Any:$lhs, C_Any:$rhs, OptionalAttr<DenseI64ArrayAttr>:$broadcast_dimensions,
                       Chlo_ComparisonDirectionAttr:$comparison_direction,
                       OptionalAttr<Chlo_ComparisonTypeAttr>:$compare_type);
}

def Chlo_BroadcastSelectOp : ChloOp<"broadcast_select", [Pure]> {
  let arguments = (ins C_Pred:$pred, C_Any:$on_true, C_Any:$on_false);
  let results = (outs C_Any:$result);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $pred `,` $on_true `,` $on_false attr-dict `:`
      `(` type($pred) `,` type($on_true) `,` type($on_false) `)` `->` type($result)
  }];
}

//===--- Constants and structured ops ---===//

def Chlo_ConstantOp : ChloOp<"constant", [ConstantLike, Pure, AllTypesMatch<["value", "output"]>]> {
  let arguments = (ins ElementsAttr:$value);
  let results = (outs AnyTensorOf<55, "any element type">:$output);
  let hasFolder = 1;
  let assemblyFormat = "attr-dict $value";
}

def Chlo_ConstantLikeOp : ChloOp<"constant_like", [Pure]> {
  let arguments = (ins C_Any:$operand, TypedAttrInterface:$value);
  let results = (outs C_Any:$result);
  let hasVerifier = 1;
}

def Chlo_RaggedDotOp : ChloOp<"ragged_dot", [Pure]> {
  let arguments = (ins C_Any:$lhs, C_Any:$rhs, C_Int:$group_sizes,
                       Chlo_RaggedDotDimensionNumbers:$ragged_dot_dimension_numbers,
                       OptionalAttr<Chlo_PrecisionConfig>:$precision_config);
  let results = (outs C_Any:$result);
  let hasVerifier = 1;
}

def Chlo_TopKOp : ChloOp<"top_k", [Pure]> {
  let arguments = (ins C_Any:$operand, I64Attr:$k, DefaultValuedOptionalAttr<BoolAttr, "true">:$is_stable);
  let results = (outs C_Any:$values, C_Any:$indices);
  let hasVerifier = 1;
  let assemblyFormat = [{
    `(` $operand `,` `k` `=` $k (`,` `is_stable` `=` $is_stable^)? `)` attr-dict `:`
      type($operand) `->` `(` type($values) `,` type($indices) `)`
  }];
}

// Runs `body` along a dimension: block arguments are slices of the inputs, then carries; it returns outputs, then carries.
def Chlo_ScanOp : ChloOp<"scan", [AttrSizedOperandSegments, AttrSizedResultSegments, IsolatedFromAbove,
                                  RecursiveMemoryEffects]> {
  let arguments = (ins Variadic<C_Any>:$inputs, Variadic<C_Any>:$inits, I64Attr:$dimension,
                       OptionalAttr<I64Attr>:$scan_dim_size, DefaultValuedOptionalAttr<BoolAttr, "false">:$is_reverse,
                       OptionalAttr<BoolAttr>:$is_associative);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<C_Any>:$outputs, Variadic<C_Any>:$carries);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}
