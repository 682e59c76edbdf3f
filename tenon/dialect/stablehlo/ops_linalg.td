// Products, convolutions, decompositions, transforms, normalisation and random numbers.
#ifndef TENON_DIALECT_STABLEHLO_OPS_LINALG_TD
#define TENON_DIALECT_STABLEHLO_OPS_LINALG_TD

include "tenon/dialect/stablehlo/attributes.td"

def Stablehlo_DotGeneralOp : StablehloOp<"dot_general", [Pure]> {
  let arguments = (ins T_Plain:$lhs, T_Any:$rhs, Stablehlo_DotDimensionNumbers:$dot_dimension_numbers,
                       OptionalAttr<Stablehlo_PrecisionConfig>:$precision_config,
                       OptionalAttr<Stablehlo_DotAlgorithm>:$algorithm);
  let results = (outs T_Any:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `,` custom<DotDimensions>($dot_dimension_numbers)
      ``custom<PrecisionAndAlgorithm>($precision_config, $algorithm) attr-dict `:` functional-type(operands, results)
  }];
}

def Stablehlo_DotOp : StablehloOp<"dot", [Pure]> {
  let arguments = (ins T_Plain:$lhs, T_Any:$rhs, OptionalAttr<Stablehlo_PrecisionConfig>:$precision_config);
  let results = (outs T_Any:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs ``custom<PrecisionConfig>($precision_config) attr-dict `:` functional-type(operands, results)
  }];
}

defvar ConvolutionAttributes = (ins OptionalAttr<DenseI64ArrayAttr>:$window_strides,
                                    OptionalAttr<I64ElementsAttr>:$padding,
                                    OptionalAttr<DenseI64ArrayAttr>:$lhs_dilation,
                                    OptionalAttr<DenseI64ArrayAttr>:$rhs_dilation,
                                    OptionalAttr<DenseBoolArrayAttr>:$window_reversal,
                                    Stablehlo_ConvDimensionNumbers:$dimension_numbers,
                                    I64Attr:$feature_group_count, I64Attr:$batch_group_count,
                                    OptionalAttr<Stablehlo_PrecisionConfig>:$precision_config);

def Stablehlo_ConvolutionOp : StablehloOp<"convolution", [Pure]> {
  let arguments = !con((ins T_Plain:$lhs, T_Any:$rhs), ConvolutionAttributes);
  let results = (outs T_Any:$result);
  let assemblyFormat = [{
    `(` operands `)` `dim_numbers` `=` custom<ConvolutionDimensions>($dimension_numbers) `,`
      `window` `=` `{` custom<Window>($window_strides, $padding, $lhs_dilation, $rhs_dilation, $window_reversal) `}`
      attr-dict `:` functional-type(operands, results)
  }];
}

def Stablehlo_DynamicConvOp : StablehloOp<"dynamic_conv", [NoMemoryEffect]> {
  let arguments = !con((ins T_Plain:$lhs, T_Plain:$rhs, StaticTensorOfRank<2, [KInt]>:$padding),
                       (ins OptionalAttr<DenseI64ArrayAttr>:$window_strides,
                            OptionalAttr<DenseI64ArrayAttr>:$lhs_dilation,
                            OptionalAttr<DenseI64ArrayAttr>:$rhs_dilation,
                            OptionalAttr<DenseBoolArrayAttr>:$window_reversal,
                            Stablehlo_ConvDimensionNumbers:$dimension_numbers,
                            I64Attr:$feature_group_count, I64Attr:$batch_group_count,
                            OptionalAttr<Stablehlo_PrecisionConfig>:$precision_config));
  let results = (outs T_Plain:$result);
}

def Stablehlo_EinsumOp : StablehloOp<"einsum", [Pure]> {
  let arguments = (ins T_Plain:$lhs, T_Plain:$rhs, StrAttr:$einsum_config);
  let results = (outs T_Plain:$result);
  let hasVerifier = 0;
  let assemblyFormat = "$lhs `,` $rhs `,` `config` `=` $einsum_config attr-dict `:` functional-type(operands, results)";
}

def Stablehlo_UnaryEinsumOp : StablehloOp<"unary_einsum", [Pure]> {
  let arguments = (ins T_Plain:$operand, StrAttr:$einsum_config);
  let results = (outs T_Plain:$result);
  let hasVerifier = 0;
  let assemblyFormat = "$operand `,` `config` `=` $einsum_config attr-dict `:` functional-type(operands, results)";
}

def Stablehlo_CholeskyOp : CheckedInferredOp<"cholesky", [Pure]> {
  let arguments = (ins T_FloatComplexQ:$a, DefaultValuedOptionalAttr<BoolAttr, "false">:$lower);
  let results = (outs T_FloatComplexQ:$result);
  let assemblyFormat = [{
    $a (`,` `lower` `=` $lower^)? attr-dict `:` custom<SameOrFunctionType>(type($a), type($result))
  }];
  let extraClassDefinition = baseline;
}

def Stablehlo_TriangularSolveOp : CheckedInferredOp<"triangular_solve", [Pure]> {
  let arguments = (ins T_FloatComplex:$a, T_FloatComplex:$b, BoolAttr:$left_side, BoolAttr:$lower,
                       BoolAttr:$unit_diagonal, Stablehlo_TransposeAttr:$transpose_a);
  let results = (outs T_FloatComplex:$result);
  let extraClassDefinition = baseline;
}

def Stablehlo_FftOp : CheckedInferredOp<"fft", [Pure]> {
  let arguments = (ins T_FloatComplex:$operand, Stablehlo_FftTypeAttr:$fft_type, DenseI64ArrayAttr:$fft_length);
  let results = (outs T_FloatComplex:$result);
  let assemblyFormat = [{
    $operand `,` `type` `=` $fft_type `,` `length` `=` $fft_length attr-dict `:` functional-type(operands, results)
  }];
}

def Stablehlo_BatchNormGradOp : CheckedInferredOp<"batch_norm_grad", [Pure]> {
  let arguments = (ins T_FloatQ:$operand, T_FloatQVector:$scale, T_FloatQVector:$mean, T_FloatQVector:$variance,
                       T_FloatQ:$grad_output, F32Attr:$epsilon, I64Attr:$feature_index);
  let results = (outs T_FloatQ:$grad_operand, T_FloatQVector:$grad_scale, T_FloatQVector:$grad_offset);
  let extraClassDefinition = baseline;
}

def Stablehlo_BatchNormInferenceOp : CheckedInferredOp<"batch_norm_inference", [Pure]> {
  let arguments = (ins T_FloatQ:$operand, T_FloatQVector:$scale, T_FloatQVector:$offset, T_FloatQVector:$mean,
                       T_FloatQVector:$variance, F32Attr:$epsilon, I64Attr:$feature_index);
  let results = (outs T_FloatQ:$result);
  let extraClassDefinition = baseline;
}

def Stablehlo_BatchNormTrainingOp : CheckedInferredOp<"batch_norm_training", [Pure]> {
  let arguments = (ins T_FloatQ:$operand, T_FloatQVector:$scale, T_FloatQVector:$offset, F32Attr:$epsilon,
                       I64Attr:$feature_index);
  let results = (outs T_FloatQ:$output, T_FloatQVector:$batch_mean, T_FloatQVector:$batch_var);
  let extraClassDefinition = baseline;
}

// Not CSE-able: two draws differ.
def Stablehlo_RngOp : StablehloOp<"rng"> {
  let arguments = (ins TensorOfRank<0, [KBool, KInt, KFloat]>:$a, TensorOfRank<0, [KBool, KInt, KFloat]>:$b,
                       T_StaticDimVector:$shape, Stablehlo_RngDistributionAttr:$rng_distribution);
  let results = (outs TensorOfKinds<[KBool, KInt, KFloat]>:$result);
  let assemblyFormat = [{
    $a `,` $b `,` $shape `,` `distribution` `=` $rng_distribution attr-dict `:` functional-type(operands, results)
  }];
}

def Stablehlo_RngBitGeneratorOp : StablehloOp<"rng_bit_generator", [Pure]> {
  let arguments = (ins T_IntFloat:$initial_state, Stablehlo_RngAlgorithmAttr:$rng_algorithm);
  let results = (outs T_IntFloat:$output_state, T_StaticIntFloat:$output);
  let assemblyFormat = [{
    $initial_state `,` `algorithm` `=` $rng_algorithm attr-dict `:` functional-type(operands, results)
  }];
}

#endif
