// Products, convolutions, gathers, transforms and random numbers.

#include "tenon/dialect/chlo/dialect.h"
#include "tenon/dialect/hlo/emitter.h"
#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::hlo {

Result<Values> Emitter::Gather(const At& at) {
  TENON_RETURN_IF_ERROR(Wants(at, 2));
  if (!at.x().gather) return InvalidArgument("no gather_dimension_numbers");
  const GatherDims& g = *at.x().gather;
  TENON_ASSIGN_OR_RETURN(
      mlir::Operation * op,
      MakeLike(at, "stablehlo.gather",
               {{"dimension_numbers", stablehlo::GatherDimensionNumbersAttr::get(
                                          b_.getContext(), g.offset_dims, g.collapsed_slice_dims, g.operand_batching,
                                          g.indices_batching, g.start_index_map, g.index_vector_dim)},
                {"slice_sizes", Array(at.x().sizes)},
                {"indices_are_sorted", b_.getBoolAttr(at.x().indices_are_sorted)}}));
  return Results(op);
}

Result<Values> Emitter::Scatter(const At& at) {
  TENON_RETURN_IF_ERROR(Wants(at, at.i.operands.size()));
  TENON_RETURN_IF_ERROR(WantsCalled(at, 1));
  if (at.i.operands.size() < 3 || at.i.operands.size() % 2 == 0) {
    return InvalidArgument(
        fmt::format("{} operands; N arrays, the indices and N updates are wanted", at.i.operands.size()));
  }
  if (!at.x().scatter) return InvalidArgument("no scatter_dimension_numbers");
  const ScatterDims& s = *at.x().scatter;
  TENON_ASSIGN_OR_RETURN(mlir::Operation * op,
                         MakeLike(at, "stablehlo.scatter",
                                  {{"scatter_dimension_numbers",
                                    stablehlo::ScatterDimensionNumbersAttr::get(
                                        b_.getContext(), s.update_window_dims, s.inserted_window_dims, s.input_batching,
                                        s.indices_batching, s.scatter_dims_to_operand_dims, s.index_vector_dim)},
                                   {"indices_are_sorted", b_.getBoolAttr(at.x().indices_are_sorted)},
                                   {"unique_indices", b_.getBoolAttr(at.x().unique_indices)}},
                                  1));
  TENON_RETURN_IF_ERROR(FillRegion(op->getRegion(0), module_.computations[at.i.called[0]], at.loc, true));
  return Results(op);
}

namespace {

// Operand type, components and flags of PrecisionConfig.Algorithm.
struct Algorithm {
  int32_t lhs_type;  // xla.PrimitiveType; -1 for tf32
  int32_t accumulation;
  int64_t operations;
  bool imprecise;
};

std::optional<Algorithm> AlgorithmOf(int32_t number) {
  switch (number) {
    case 3:
      return Algorithm{kF16, kF16, 1, false};
    case 4:
      return Algorithm{kF16, kF32, 1, false};
    case 5:
      return Algorithm{kBF16, kBF16, 1, false};
    case 6:
      return Algorithm{kBF16, kF32, 1, false};
    case 7:
      return Algorithm{kBF16, kF32, 3, false};
    case 8:
      return Algorithm{kBF16, kF32, 6, false};
    case 9:
      return Algorithm{-1, kF32, 1, false};
    case 10:
      return Algorithm{-1, kF32, 3, false};
    case 11:
      return Algorithm{kF32, kF32, 1, false};
    case 12:
      return Algorithm{kF64, kF64, 1, false};
    case 13:
      return Algorithm{kBF16, kF32, 9, false};
    default:
      return std::nullopt;
  }
}

}  // namespace

Result<Values> Emitter::Dot(const At& at) {
  TENON_RETURN_IF_ERROR(Wants(at, 2));
  // Absent numbers are those of a scalar product, all lists empty.
  const DotDims none;
  const DotDims& d = at.x().dot ? *at.x().dot : none;
  mlir::Attribute algorithm;
  if (at.x().algorithm != 0) {
    std::optional<Algorithm> a = AlgorithmOf(at.x().algorithm);
    // Any f8 operands: the algorithm says only how they are summed.
    if (at.x().algorithm == 1 || at.x().algorithm == 2) a = Algorithm{at.shape(0).type, kF32, 1, at.x().algorithm == 2};
    if (!a)
      return Unimplemented(fmt::format("dot algorithm {} of PrecisionConfig has no StableHLO form", at.x().algorithm));
    mlir::Type lhs = mlir::FloatTF32Type::get(b_.getContext()), rhs = lhs;
    if (a->lhs_type >= 0) {
      TENON_ASSIGN_OR_RETURN(lhs, ElementOf(a->lhs_type));
      TENON_ASSIGN_OR_RETURN(rhs, ElementOf(at.x().algorithm <= 2 ? at.shape(1).type : a->lhs_type));
    }
    TENON_ASSIGN_OR_RETURN(mlir::Type sum, ElementOf(a->accumulation));
    algorithm = stablehlo::DotAlgorithmAttr::get(b_.getContext(), lhs, rhs, sum, 1, 1, a->operations, a->imprecise);
  }
  TENON_ASSIGN_OR_RETURN(mlir::Operation * op,
                         MakeLike(at, "stablehlo.dot_general",
                                  {{"dot_dimension_numbers",
                                    stablehlo::DotDimensionNumbersAttr::get(b_.getContext(), d.lhs_batch, d.rhs_batch,
                                                                            d.lhs_contracting, d.rhs_contracting)},
                                   {"precision_config", PrecisionOf(at.x())},
                                   {"algorithm", algorithm}}));
  return Results(op);
}

Result<Values> Emitter::RaggedDot(const At& at) {
  TENON_RETURN_IF_ERROR(Wants(at, 3));
  if (!at.x().dot) return InvalidArgument("no ragged_dot_dimension_numbers");
  const DotDims& d = *at.x().dot;
  TENON_ASSIGN_OR_RETURN(
      mlir::Operation * op,
      MakeLike(at, "chlo.ragged_dot",
               {{"ragged_dot_dimension_numbers",
                 chlo::RaggedDotDimensionNumbersAttr::get(b_.getContext(), d.lhs_batch, d.rhs_batch, d.lhs_contracting,
                                                          d.rhs_contracting, d.lhs_ragged, d.rhs_group)}}));
  return Results(op);
}

Result<Values> Emitter::Convolution(const At& at) {
  TENON_RETURN_IF_ERROR(Wants(at, 2));
  if (!at.x().conv) return InvalidArgument("no convolution_dimension_numbers");
  const ConvDims& c = *at.x().conv;
  std::vector<int64_t> strides, lhs_dilation, rhs_dilation;
  llvm::SmallVector<bool> reversal;
  for (const WindowDim& w : at.x().window) {
    strides.push_back(w.stride);
    lhs_dilation.push_back(w.base_dilation);
    rhs_dilation.push_back(w.window_dilation);
    reversal.push_back(w.reversal);
  }
  // HLO allows operands of two types; StableHLO wants one.
  Values operands = Operands(at);
  const TypeInfo *lhs = FindType(at.shape(0).type), *rhs = FindType(at.shape(1).type);
  if (lhs->number != rhs->number) {
    const size_t narrow = lhs->bits < rhs->bits ? 0 : 1;
    TENON_ASSIGN_OR_RETURN(mlir::Type element, ElementOf(narrow == 0 ? rhs->number : lhs->number));
    operands[narrow] =
        Make(at.loc, "stablehlo.convert", operands[narrow], mlir::RankedTensorType::get(at.shape(narrow).dims, element))
            ->getResult(0);
  }
  TENON_ASSIGN_OR_RETURN(mlir::RankedTensorType type, TensorOf(at.i.shape));
  const auto count = [](int64_t n) { return n == 0 ? int64_t{1} : n; };
  return Results(Make(at.loc, "stablehlo.convolution", operands, type,
                      {{"window_strides", Array(strides)},
                       {"padding", Padding(at.x().window)},
                       {"lhs_dilation", Array(lhs_dilation)},
                       {"rhs_dilation", Array(rhs_dilation)},
                       {"window_reversal", b_.getDenseBoolArrayAttr(reversal)},
                       {"dimension_numbers",
                        stablehlo::ConvDimensionNumbersAttr::get(
                            b_.getContext(), c.input_batch, c.input_feature, c.input_spatial, c.kernel_input,
                            c.kernel_output, c.kernel_spatial, c.output_batch, c.output_feature, c.output_spatial)},
                       {"feature_group_count", I64(count(at.x().feature_group_count))},
                       {"batch_group_count", I64(count(at.x().batch_group_count))},
                       {"precision_config", PrecisionOf(at.x())}}));
}

Result<Values> Emitter::Fft(const At& at) {
  TENON_RETURN_IF_ERROR(Wants(at, 1));
  const auto type = stablehlo::symbolizeFftType(static_cast<uint32_t>(at.x().fft_type));
  if (!type) return InvalidArgument(fmt::format("fft_type {}; 0 to 3 are known", at.x().fft_type));
  TENON_ASSIGN_OR_RETURN(mlir::Operation * op,
                         MakeLike(at, "stablehlo.fft",
                                  {{"fft_type", stablehlo::FftTypeAttr::get(b_.getContext(), *type)},
                                   {"fft_length", Array(at.x().sizes)}}));
  return Results(op);
}

Result<Values> Emitter::Cholesky(const At& at) {
  TENON_RETURN_IF_ERROR(Wants(at, 1));
  TENON_ASSIGN_OR_RETURN(mlir::Operation * op,
                         MakeLike(at, "stablehlo.cholesky", {{"lower", b_.getBoolAttr(at.x().lower)}}));
  return Results(op);
}

Result<Values> Emitter::TriangularSolve(const At& at) {
  TENON_RETURN_IF_ERROR(Wants(at, 2));
  const Extras& x = at.x();
  const auto transpose = stablehlo::symbolizeTranspose(static_cast<uint32_t>(x.transpose_a));
  if (!transpose || x.transpose_a == 0)
    return InvalidArgument(
        fmt::format("transpose_a {}; 1 (NO_TRANSPOSE), 2 (TRANSPOSE) or 3 (ADJOINT) is wanted", x.transpose_a));
  TENON_ASSIGN_OR_RETURN(mlir::Operation * op,
                         MakeLike(at, "stablehlo.triangular_solve",
                                  {{"left_side", b_.getBoolAttr(x.left_side)},
                                   {"lower", b_.getBoolAttr(x.lower)},
                                   {"unit_diagonal", b_.getBoolAttr(x.unit_diagonal)},
                                   {"transpose_a", stablehlo::TransposeAttr::get(b_.getContext(), *transpose)}}));
  return Results(op);
}

Result<Values> Emitter::BatchNorm(const At& at) {
  const bool training = at.i.opcode == "batch-norm-training", inference = at.i.opcode == "batch-norm-inference";
  TENON_RETURN_IF_ERROR(Wants(at, training ? 3 : 5));
  const llvm::StringRef name = training    ? "stablehlo.batch_norm_training"
                               : inference ? "stablehlo.batch_norm_inference"
                                           : "stablehlo.batch_norm_grad";
  TENON_ASSIGN_OR_RETURN(mlir::Operation * op, MakeLike(at, name,
                                                        {{"epsilon", b_.getF32FloatAttr(at.x().epsilon)},
                                                         {"feature_index", I64(at.x().feature_index)}}));
  return Results(op);
}

Result<Values> Emitter::Rng(const At& at) {
  TENON_RETURN_IF_ERROR(Wants(at, 2));
  const auto distribution = stablehlo::symbolizeRngDistribution(static_cast<uint32_t>(at.x().distribution));
  if (!distribution)
    return InvalidArgument(fmt::format("distribution {}; 1 (UNIFORM) or 2 (NORMAL) is wanted", at.x().distribution));
  TENON_ASSIGN_OR_RETURN(mlir::RankedTensorType type, TensorOf(at.i.shape));
  const auto rank = static_cast<int64_t>(at.i.shape.dims.size());
  const auto vector = mlir::RankedTensorType::get({rank}, b_.getI64Type());
  mlir::Operation* dims =
      Make(at.loc, "stablehlo.constant", {}, vector,
           {{"value", mlir::DenseIntElementsAttr::get(vector, llvm::ArrayRef<int64_t>(at.i.shape.dims))}});
  return Results(Make(at.loc, "stablehlo.rng", {at.in(0)[0], at.in(1)[0], dims->getResult(0)}, type,
                      {{"rng_distribution", stablehlo::RngDistributionAttr::get(b_.getContext(), *distribution)}}));
}

Result<Values> Emitter::RngBits(const At& at) {
  TENON_RETURN_IF_ERROR(Wants(at, 1));
  const auto algorithm = stablehlo::symbolizeRngAlgorithm(static_cast<uint32_t>(at.x().rng_algorithm));
  if (!algorithm) return InvalidArgument(fmt::format("rng_algorithm {}; 0 to 2 are known", at.x().rng_algorithm));
  llvm::SmallVector<mlir::Type> types;
  // The old form yields the bits alone.
  const bool old = at.i.shape.type != kTuple;
  if (old) types.push_back(at.in(0)[0].getType());
  TENON_RETURN_IF_ERROR(LeafTypes(at.i.shape, types));
  Values results = Results(Make(at.loc, "stablehlo.rng_bit_generator", at.in(0), types,
                                {{"rng_algorithm", stablehlo::RngAlgorithmAttr::get(b_.getContext(), *algorithm)}}));
  if (old) results.erase(results.begin());
  return results;
}

Result<Values> Emitter::TopK(const At& at) {
  TENON_RETURN_IF_ERROR(Wants(at, 1));
  if (at.x().largest) {
    TENON_ASSIGN_OR_RETURN(mlir::Operation * op, MakeLike(at, "chlo.top_k", {{"k", I64(at.x().k)}}));
    return Results(op);
  }
  // Nothing but the call by which such ops travel in StableHLO.
  const mlir::Attribute of =
      b_.getDictionaryAttr({b_.getNamedAttr("k", I64(at.x().k)), b_.getNamedAttr("largest", b_.getBoolAttr(false))});
  TENON_ASSIGN_OR_RETURN(mlir::Operation * op,
                         MakeLike(at, "stablehlo.custom_call",
                                  {{"call_target_name", b_.getStringAttr("mhlo.topk")}, {"mhlo.attributes", of}}));
  return Results(op);
}

}  // namespace tenon::hlo
