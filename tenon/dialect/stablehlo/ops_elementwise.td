// Ops that work element by element on operands of one shape.
#ifndef TENON_DIALECT_STABLEHLO_OPS_ELEMENTWISE_TD
#define TENON_DIALECT_STABLEHLO_OPS_ELEMENTWISE_TD

include "tenon/dialect/stablehlo/attributes.td"

// Result type = type of the first operand, unless the op says otherwise.
class ElementwiseOp<string mnemonic, list<Trait> traits = []>
    : CheckedInferredOp<mnemonic, !listconcat([Pure], traits)> {
  code inference = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(::mlir::MLIRContext *, std::optional<::mlir::Location>,
                                                      Adaptor adaptor, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::tenon::stablehlo::InferLikeFirst(adaptor.getOperands(), types);
    }
  }];
  code verification = [{
    ::llvm::LogicalResult $cppClass::Check() { return ::tenon::stablehlo::VerifyElementwise(getOperation()); }
  }];
  let extraClassDefinition = baseline # inference # verification;
}

class UnaryOp<string mnemonic, Type operandType, Type resultType = operandType, list<Trait> traits = []>
    : ElementwiseOp<mnemonic, traits> {
  let arguments = (ins operandType:$operand);
  let results = (outs resultType:$result);
  let assemblyFormat = "$operand attr-dict `:` custom<SameOrFunctionType>(type($operand), type($result))";
}

// A transcendental function, which may carry a wanted accuracy.
class AccurateOp<string mnemonic> : ElementwiseOp<mnemonic> {
  let arguments = (ins T_FloatComplexQ:$operand, Stablehlo_DefaultAccuracy:$result_accuracy);
  let results = (outs T_FloatComplexQ:$result);
  let assemblyFormat = "$operand attr-dict `:` custom<SameOrFunctionType>(type($operand), type($result))";
  let extraClassDefinition = baseline # inference # [{
    ::llvm::LogicalResult $cppClass::Check() {
      return ::llvm::success(::llvm::succeeded(::tenon::stablehlo::VerifyElementwise(getOperation())) &&
                             ::llvm::succeeded(::tenon::stablehlo::VerifyAccuracy(getOperation(), getResultAccuracy())));
    }
  }];
}

class BinaryOp<string mnemonic, Type operandType, Type resultType = operandType, list<Trait> traits = []>
    : ElementwiseOp<mnemonic, traits> {
  let arguments = (ins operandType:$lhs, operandType:$rhs);
  let results = (outs resultType:$result);
  let assemblyFormat =
      "$lhs `,` $rhs attr-dict `:` custom<SameOrFunctionType>(type($lhs), type($rhs), type($result))";
}

def Stablehlo_AbsOp : UnaryOp<"abs", T_SignedFloatComplexQ, T_SignedFloatQ> {
  let extraClassDefinition = baseline # [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(::mlir::MLIRContext *, std::optional<::mlir::Location>,
                                                      Adaptor adaptor, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::tenon::stablehlo::InferRealPart(adaptor.getOperands(), types);
    }
    ::llvm::LogicalResult $cppClass::Check() { return ::llvm::success(); }
  }];
}
def Stablehlo_CbrtOp : AccurateOp<"cbrt">;
def Stablehlo_CeilOp : UnaryOp<"ceil", T_FloatQ>;
def Stablehlo_ClzOp : UnaryOp<"count_leading_zeros", T_Int>;
def Stablehlo_CosineOp : AccurateOp<"cosine">;
def Stablehlo_ExpOp : AccurateOp<"exponential">;
def Stablehlo_Expm1Op : AccurateOp<"exponential_minus_one">;
def Stablehlo_FloorOp : UnaryOp<"floor", T_FloatQ>;
def Stablehlo_Log1pOp : AccurateOp<"log_plus_one">;
def Stablehlo_LogOp : AccurateOp<"log">;
def Stablehlo_LogisticOp : AccurateOp<"logistic">;
def Stablehlo_NegOp : UnaryOp<"negate", T_IntFloatComplexQ>;
def Stablehlo_NotOp : UnaryOp<"not", T_IntBool>;
def Stablehlo_PopulationCountOp : UnaryOp<"popcnt", T_Int>;
def Stablehlo_RoundNearestEvenOp : UnaryOp<"round_nearest_even", T_FloatQ>;
def Stablehlo_RoundOp : UnaryOp<"round_nearest_afz", T_FloatQ>;
def Stablehlo_RsqrtOp : AccurateOp<"rsqrt">;
def Stablehlo_SignOp : UnaryOp<"sign", T_SignedFloatComplexQ>;
def Stablehlo_SineOp : AccurateOp<"sine">;
def Stablehlo_SqrtOp : AccurateOp<"sqrt">;
def Stablehlo_TanOp : AccurateOp<"tan">;
def Stablehlo_TanhOp : AccurateOp<"tanh">;

class RealPartOp<string mnemonic> : UnaryOp<mnemonic, T_FloatComplex, T_Float> {
  let extraClassDefinition = baseline # [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(::mlir::MLIRContext *, std::optional<::mlir::Location>,
                                                      Adaptor adaptor, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::tenon::stablehlo::InferRealPart(adaptor.getOperands(), types);
    }
    ::llvm::LogicalResult $cppClass::Check() { return ::llvm::success(); }
  }];
}
def Stablehlo_ImagOp : RealPartOp<"imag">;
def Stablehlo_RealOp : RealPartOp<"real">;

def Stablehlo_AddOp : BinaryOp<"add", T_Any, T_Any, [Commutative]> {
  let extraClassDefinition = baseline # inference # [{
    ::llvm::LogicalResult $cppClass::Check() {
      return ::llvm::success(::llvm::succeeded(::tenon::stablehlo::VerifyElementwise(getOperation())) &&
                             ::llvm::succeeded(::tenon::stablehlo::VerifyQuantizedSum(getOperation())));
    }
  }];
}
def Stablehlo_AndOp : BinaryOp<"and", T_IntBool, T_IntBool, [Commutative]>;
def Stablehlo_Atan2Op : BinaryOp<"atan2", T_FloatComplexQ>;
def Stablehlo_DivOp : BinaryOp<"divide", T_IntFloatComplexQ>;
def Stablehlo_MaxOp : BinaryOp<"maximum", T_Plain, T_Plain, [Commutative]>;
def Stablehlo_MinOp : BinaryOp<"minimum", T_Plain, T_Plain, [Commutative]>;
def Stablehlo_MulOp : BinaryOp<"multiply", T_Plain, T_Plain, [Commutative]>;
def Stablehlo_OrOp : BinaryOp<"or", T_IntBool, T_IntBool, [Commutative]>;
def Stablehlo_PowOp : BinaryOp<"power", T_IntFloatComplexQ>;
def Stablehlo_RemOp : BinaryOp<"remainder", T_IntFloatComplexQ>;
def Stablehlo_ShiftLeftOp : BinaryOp<"shift_left", T_Int>;
def Stablehlo_ShiftRightArithmeticOp : BinaryOp<"shift_right_arithmetic", T_Int>;
def Stablehlo_ShiftRightLogicalOp : BinaryOp<"shift_right_logical", T_Int>;
def Stablehlo_SubtractOp : BinaryOp<"subtract", T_IntFloatComplexQ>;
def Stablehlo_XorOp : BinaryOp<"xor", T_IntBool, T_IntBool, [Commutative]>;

def Stablehlo_ComplexOp : CheckedInferredOp<"complex", [Pure]> {
  let arguments = (ins T_Part:$lhs, T_Part:$rhs);
  let results = (outs T_Complex:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` custom<ComplexType>(type($lhs), type($rhs), type($result))";
}

def Stablehlo_CompareOp : CheckedInferredOp<"compare", [Pure]> {
  let arguments = (ins T_Plain:$lhs, T_Plain:$rhs, Stablehlo_ComparisonDirectionAttr:$comparison_direction,
                       OptionalAttr<Stablehlo_ComparisonTypeAttr>:$compare_type);
  let results = (outs T_Bool:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs,
                                 "::tenon::stablehlo::ComparisonDirection":$direction), [{
    build($_builder, $_state, lhs, rhs, ComparisonDirectionAttr::get($_builder.getContext(), direction),
          ComparisonTypeAttr());
  }]>];
  let assemblyFormat = [{
    $comparison_direction `,` $lhs `,` $rhs (`,` $compare_type^)? attr-dict `:` functional-type(operands, results)
  }];
}

def Stablehlo_SelectOp : CheckedInferredOp<"select", [Pure]> {
  let arguments = (ins T_Bool:$pred, T_Plain:$on_true, T_Plain:$on_false);
  let results = (outs T_Plain:$result);
  let assemblyFormat = [{
    $pred `,` $on_true `,` $on_false attr-dict `:`
      custom<SelectType>(type($pred), type($on_true), type($on_false), type($result))
  }];
  let extraClassDefinition = baseline;
}

def Stablehlo_ClampOp : CheckedInferredOp<"clamp", [Pure]> {
  let arguments = (ins T_Plain:$min, T_Plain:$operand, T_Plain:$max);
  let results = (outs T_Plain:$result);
  let assemblyFormat = [{
    $min `,` $operand `,` $max attr-dict `:`
      custom<SameOrFunctionType>(type($min), type($operand), type($max), type($result))
  }];
  let extraClassDefinition = baseline;
}

def Stablehlo_IsFiniteOp : InferredOp<"is_finite", [Pure]> {
  let arguments = (ins T_FloatQ:$x);
  let results = (outs T_Bool:$y);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
}

def Stablehlo_ConvertOp : StablehloOp<"convert", [Pure]> {
  let arguments = (ins T_Numeric:$operand);
  let results = (outs T_Numeric:$result);
  let assemblyFormat = "$operand attr-dict `:` custom<SameOrFunctionType>(type($operand), type($result))";
}

def Stablehlo_ReducePrecisionOp : ElementwiseOp<"reduce_precision"> {
  let arguments = (ins T_FloatQ:$operand, I32Attr:$exponent_bits, I32Attr:$mantissa_bits);
  let results = (outs T_FloatQ:$output);
  let assemblyFormat = [{
    $operand `,` `format` `=` custom<ExponentMantissa>($exponent_bits, $mantissa_bits) attr-dict `:`
      custom<SameOrFunctionType>(type($operand), type($output))
  }];
  let extraClassDefinition = baseline # inference;
}

def Stablehlo_UniformQuantizeOp : StablehloOp<"uniform_quantize", [Pure]> {
  let arguments = (ins T_FloatQuantAny:$operand);
  let results = (outs T_QuantAny:$result);
  let assemblyFormat = "$operand attr-dict `:` custom<SameOrFunctionType>(type($operand), type($result))";
}

def Stablehlo_UniformDequantizeOp : InferredOp<"uniform_dequantize", [Pure]> {
  let arguments = (ins T_QuantAny:$operand);
  let results = (outs T_Float:$result);
  let assemblyFormat = "$operand attr-dict `:` custom<SameOrFunctionType>(type($operand), type($result))";
}

#endif
