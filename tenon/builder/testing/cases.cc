#include "tenon/builder/testing/cases.h"

#include <cmath>
#include <limits>

namespace tenon::builder::testing {
namespace {

Value F(Function& f, std::vector<float> data, const Dims& dims) { return Constant(f, data, dims); }
Value V(Function& f, std::vector<float> data) {
  const auto n = static_cast<int64_t>(data.size());
  return Constant(f, data, {n});
}
Value I(Function& f, std::vector<int32_t> data) {
  const auto n = static_cast<int64_t>(data.size());
  return Constant(f, data, {n});
}
Value I2(Function& f, std::vector<int32_t> data, const Dims& dims) { return Constant(f, data, dims); }
Value N(Function& f, int32_t value) { return Constant(f, value); }
Value P(Function& f, std::vector<uint8_t> data) {
  const auto n = static_cast<int64_t>(data.size());
  return Convert(Constant(f, data, {n}), DType::kPred);
}
Value C(Function& f, std::vector<std::complex<float>> data) {
  const auto n = static_cast<int64_t>(data.size());
  return Constant(f, data, {n});
}
const Body kSum = [](Value a, Value b) { return Add(a, b); };

const Quantization kQuantized8{.storage = DType::kS8, .expressed = DType::kF32, .scales = {0.5}, .zero_points = {2}};

std::vector<Case> Elementwise() {
  return {
      {"abs", OpKind::kAbs, [](Function& f) { return Values{Abs(V(f, {-1, 2})), Abs(C(f, {{3, 4}}))}; }, {{1, 2}, {5}}},
      {"ceil", OpKind::kCeil, [](Function& f) { return Values{Ceil(V(f, {1.5f, -1.5f}))}; }, {{2, -1}}},
      {"clz",
       OpKind::kCountLeadingZeros,
       [](Function& f) { return Values{CountLeadingZeros(I(f, {1, 0}))}; },
       {{31, 32}}},
      {"floor", OpKind::kFloor, [](Function& f) { return Values{Floor(V(f, {1.5f, -1.5f}))}; }, {{1, -2}}},
      {"imag", OpKind::kImag, [](Function& f) { return Values{Imag(C(f, {{3, 4}}))}; }, {{4}}},
      {"is_finite", OpKind::kIsFinite, [](Function& f) { return Values{IsFinite(V(f, {1, NAN}))}; }, {{1, 0}}},
      {"negate", OpKind::kNegate, [](Function& f) { return Values{Negate(V(f, {1, -2}))}; }, {{-1, 2}}},
      {"not",
       OpKind::kNot,
       [](Function& f) { return Values{Not(I(f, {0, 5})), Not(P(f, {0, 1}))}; },
       {{-1, -6}, {1, 0}}},
      {"popcnt", OpKind::kPopcnt, [](Function& f) { return Values{Popcnt(I(f, {7, -1}))}; }, {{3, 32}}},
      {"real", OpKind::kReal, [](Function& f) { return Values{Real(C(f, {{3, 4}}))}; }, {{3}}},
      {"round_afz",
       OpKind::kRoundNearestAfz,
       [](Function& f) { return Values{RoundNearestAfz(V(f, {2.5f, -0.5f}))}; },
       {{3, -1}}},
      {"round_even",
       OpKind::kRoundNearestEven,
       [](Function& f) { return Values{RoundNearestEven(V(f, {2.5f, 3.5f}))}; },
       {{2, 4}}},
      {"sign", OpKind::kSign, [](Function& f) { return Values{Sign(V(f, {-3, 0, 2}))}; }, {{-1, 0, 1}}},
      {"cbrt", OpKind::kCbrt, [](Function& f) { return Values{Cbrt(V(f, {-8, 27}))}; }, {{-2, 3}}},
      {"cosine", OpKind::kCosine, [](Function& f) { return Values{Cosine(V(f, {0, 1}))}; }, {{1, std::cos(1.0)}}},
      {"exponential",
       OpKind::kExponential,
       [](Function& f) {
         return Values{Exponential(V(f, {0, 1}), {.mode = ResultAccuracy::Mode::kTolerance, .rtol = 1e-3, .ulps = 2})};
       },
       {{1, std::exp(1.0)}}},
      {"expm1",
       OpKind::kExponentialMinusOne,
       [](Function& f) { return Values{ExponentialMinusOne(V(f, {0, 1}))}; },
       {{0, std::expm1(1.0)}}},
      {"log",
       OpKind::kLog,
       [](Function& f) { return Values{Log(V(f, {1, 2}), {.mode = ResultAccuracy::Mode::kHighest})}; },
       {{0, std::log(2.0)}}},
      {"log1p",
       OpKind::kLogPlusOne,
       [](Function& f) { return Values{LogPlusOne(V(f, {0, 1}))}; },
       {{0, std::log(2.0)}}},
      {"logistic",
       OpKind::kLogistic,
       [](Function& f) { return Values{Logistic(V(f, {0, 1}))}; },
       {{0.5, 1 / (1 + std::exp(-1.0))}}},
      {"rsqrt", OpKind::kRsqrt, [](Function& f) { return Values{Rsqrt(V(f, {4, 16}))}; }, {{0.5, 0.25}}},
      {"sine", OpKind::kSine, [](Function& f) { return Values{Sine(V(f, {0, 1}))}; }, {{0, std::sin(1.0)}}},
      {"sqrt", OpKind::kSqrt, [](Function& f) { return Values{Sqrt(V(f, {4, 9}))}; }, {{2, 3}}},
      {"tan", OpKind::kTan, [](Function& f) { return Values{Tan(V(f, {0, 1}))}; }, {{0, std::tan(1.0)}}},
      {"tanh", OpKind::kTanh, [](Function& f) { return Values{Tanh(V(f, {0, 1}))}; }, {{0, std::tanh(1.0)}}},
      {"add", OpKind::kAdd, [](Function& f) { return Values{Add(V(f, {1, 2}), V(f, {3, 5}))}; }, {{4, 7}}},
      {"and", OpKind::kAnd, [](Function& f) { return Values{And(I(f, {6, 3}), I(f, {3, 3}))}; }, {{2, 3}}},
      {"atan2",
       OpKind::kAtan2,
       [](Function& f) { return Values{Atan2(V(f, {1, 0}), V(f, {1, -1}))}; },
       {{std::atan2(1.0, 1.0), std::atan2(0.0, -1.0)}}},
      {"divide", OpKind::kDivide, [](Function& f) { return Values{Divide(I(f, {7, -7}), I(f, {2, 2}))}; }, {{3, -3}}},
      {"maximum", OpKind::kMaximum, [](Function& f) { return Values{Maximum(V(f, {1, 5}), V(f, {3, 2}))}; }, {{3, 5}}},
      {"minimum", OpKind::kMinimum, [](Function& f) { return Values{Minimum(V(f, {1, 5}), V(f, {3, 2}))}; }, {{1, 2}}},
      {"multiply",
       OpKind::kMultiply,
       [](Function& f) { return Values{Multiply(V(f, {1, 2}), V(f, {3, 5}))}; },
       {{3, 10}}},
      {"or", OpKind::kOr, [](Function& f) { return Values{Or(I(f, {6, 3}), I(f, {1, 4}))}; }, {{7, 7}}},
      {"power", OpKind::kPower, [](Function& f) { return Values{Power(V(f, {2, 3}), V(f, {3, 2}))}; }, {{8, 9}}},
      {"remainder",
       OpKind::kRemainder,
       [](Function& f) { return Values{Remainder(I(f, {7, -7}), I(f, {4, 4}))}; },
       {{3, -3}}},
      {"shift_left",
       OpKind::kShiftLeft,
       [](Function& f) { return Values{ShiftLeft(I(f, {1, 1}), I(f, {3, 32}))}; },
       {{8, 0}}},
      {"shift_right_arithmetic",
       OpKind::kShiftRightArithmetic,
       [](Function& f) { return Values{ShiftRightArithmetic(I(f, {-8}), I(f, {1}))}; },
       {{-4}}},
      {"shift_right_logical",
       OpKind::kShiftRightLogical,
       [](Function& f) { return Values{ShiftRightLogical(I(f, {-1}), I(f, {28}))}; },
       {{15}}},
      {"subtract",
       OpKind::kSubtract,
       [](Function& f) { return Values{Subtract(V(f, {1, 2}), V(f, {3, 5}))}; },
       {{-2, -3}}},
      {"xor", OpKind::kXor, [](Function& f) { return Values{Xor(I(f, {6, 3}), I(f, {3, 3}))}; }, {{5, 0}}},
      {"constant",
       OpKind::kConstant,
       [](Function& f) { return Values{V(f, {1, 1e-5f, 1e30f, INFINITY}), Full(f, {DType::kBF16, {2}}, 0.1)}; },
       {{1, 1e-5f, 1e30f, INFINITY}, {0.10009765625, 0.10009765625}}},
      {"iota",
       OpKind::kIota,
       [](Function& f) { return Values{Iota(f, {DType::kS32, {2, 3}}, 1)}; },
       {{0, 1, 2, 0, 1, 2}}},
      {"clamp",
       OpKind::kClamp,
       [](Function& f) { return Values{Clamp(Constant(f, 0.0f), V(f, {-1, 0.5f, 3}), V(f, {1, 1, 2}))}; },
       {{0, 0.5, 2}}},
      {"compare",
       OpKind::kCompare,
       [](Function& f) {
         return Values{Compare(V(f, {1, 2}), V(f, {2, 2}), Direction::kLt),
                       Compare(V(f, {0, -0.0f}), V(f, {-0.0f, 0}), Direction::kGt, Order::kTotalOrder)};
       },
       {{1, 0}, {1, 0}}},
      {"complex", OpKind::kComplex, [](Function& f) { return Values{Complex(V(f, {1}), V(f, {2}))}; }, {{1, 2}}},
      {"convert",
       OpKind::kConvert,
       [](Function& f) { return Values{Convert(V(f, {1.7f, -1.7f}), DType::kS32)}; },
       {{1, -1}}},
      {"bitcast_convert",
       OpKind::kBitcastConvert,
       [](Function& f) {
         const Value halves = BitcastConvert(I(f, {0x11112222}), DType::kU16);
         return Values{BitcastConvert(V(f, {1}), DType::kU32), halves, BitcastConvert(halves, DType::kS32)};
       },
       {{0x3f800000}, {0x2222, 0x1111}, {0x11112222}}},
      {"reduce_precision",
       OpKind::kReducePrecision,
       [](Function& f) { return Values{ReducePrecision(V(f, {1.001f}), 8, 7)}; },
       {{1}}},
      {"select",
       OpKind::kSelect,
       [](Function& f) {
         return Values{Select(P(f, {1, 0}), V(f, {1, 2}), V(f, {3, 4})),
                       Select(Constant(f, false), V(f, {1, 2}), V(f, {3, 4}))};
       },
       {{1, 4}, {3, 4}}},
      {"quantize",
       OpKind::kUniformQuantize,
       [](Function& f) { return Values{UniformDequantize(UniformQuantize(V(f, {1.2f, 3}), kQuantized8))}; },
       {{1, 3}}},
      {"dequantize",
       OpKind::kUniformDequantize,
       [](Function& f) {
         const int8_t stored[] = {2, 4};
         return Values{UniformDequantize(
             QuantizedConstant(f, Type::Quantized(kQuantized8, {2}), std::as_bytes(std::span<const int8_t>(stored))))};
       },
       {{0, 1}}},
      {"operators",
       OpKind::kAdd,
       [](Function& f) { return Values{(V(f, {1, 2}) * 3.0 - 1.0) / V(f, {2, 5}) + Constant(f, 1.0f)}; },
       {{2, 2}}},
  };
}

std::vector<Case> Movement() {
  return {
      {"broadcast",
       OpKind::kBroadcast,
       [](Function& f) { return Values{Broadcast(V(f, {1, 2}), {2})}; },
       {{1, 2, 1, 2}}},
      {"broadcast_in_dim",
       OpKind::kBroadcastInDim,
       [](Function& f) { return Values{BroadcastInDim(V(f, {1, 2}), {2, 2}, {0}), BroadcastTo(V(f, {1, 2}), {2, 2})}; },
       {{1, 1, 2, 2}, {1, 2, 1, 2}}},
      {"concatenate",
       OpKind::kConcatenate,
       [](Function& f) { return Values{Concatenate({V(f, {1, 2}), V(f, {3})}, 0)}; },
       {{1, 2, 3}}},
      {"dynamic_slice",
       OpKind::kDynamicSlice,
       [](Function& f) { return Values{DynamicSlice(V(f, {1, 2, 3}), {N(f, 2)}, {2})}; },
       {{2, 3}}},
      {"dynamic_update_slice",
       OpKind::kDynamicUpdateSlice,
       [](Function& f) { return Values{DynamicUpdateSlice(V(f, {1, 2, 3}), V(f, {9}), {N(f, 1)})}; },
       {{1, 9, 3}}},
      {"gather",
       OpKind::kGather,
       [](Function& f) {
         return Values{Gather(
             F(f, {1, 2, 3, 4, 5, 6}, {3, 2}), I2(f, {2, 0}, {2, 1}),
             {.offset_dims = {1}, .collapsed_slice_dims = {0}, .start_index_map = {0}, .index_vector_dim = 1}, {1, 2})};
       },
       {{5, 6, 1, 2}}},
      {"gather_batching",
       OpKind::kGather,
       [](Function& f) {
         return Values{Gather(F(f, {1, 2, 3, 4, 5, 6}, {2, 3}), I2(f, {2, 0}, {2, 1}),
                              {.collapsed_slice_dims = {1},
                               .operand_batching_dims = {0},
                               .start_indices_batching_dims = {0},
                               .start_index_map = {1},
                               .index_vector_dim = 1},
                              {1, 1})};
       },
       {{3, 4}}},
      {"pad",
       OpKind::kPad,
       [](Function& f) { return Values{Pad(V(f, {1, 2, 3}), Constant(f, 9.0f), {-1}, {-1}, {1})}; },
       {{9, 2, 9}}},
      {"reshape",
       OpKind::kReshape,
       [](Function& f) { return Values{Reshape(F(f, {1, 2, 3, 4}, {2, 2}), {4})}; },
       {{1, 2, 3, 4}}},
      {"reverse",
       OpKind::kReverse,
       [](Function& f) { return Values{Reverse(F(f, {1, 2, 3, 4}, {2, 2}), {1})}; },
       {{2, 1, 4, 3}}},
      {"slice",
       OpKind::kSlice,
       [](Function& f) { return Values{Slice(V(f, {1, 2, 3, 4, 5}), {1}, {5}, {3})}; },
       {{2, 5}}},
      {"torch_index_select",
       OpKind::kTorchIndexSelect,
       [](Function& f) { return Values{TorchIndexSelect(F(f, {1, 2, 3, 4}, {2, 2}), I(f, {1, 0}), 0)}; },
       {{3, 4, 1, 2}}},
      {"transpose",
       OpKind::kTranspose,
       [](Function& f) { return Values{Transpose(F(f, {1, 2, 3, 4, 5, 6}, {2, 3}), {1, 0})}; },
       {{1, 4, 2, 5, 3, 6}}},
  };
}

std::vector<Case> Linalg() {
  return {
      {"batch_norm_inference",
       OpKind::kBatchNormInference,
       [](Function& f) {
         return Values{BatchNormInference(F(f, {1, 2, 3, 4}, {2, 2}), V(f, {1, 2}), V(f, {0, 1}), V(f, {2, 3}),
                                          V(f, {1, 1}), {.epsilon = 0, .feature_dim = 1})};
       },
       {{-1, -1, 1, 3}}},
      {"batch_norm_training",
       OpKind::kBatchNormTraining,
       [](Function& f) {
         return BatchNormTraining(F(f, {1, 2, 3, 4}, {2, 2}), V(f, {1, 2}), V(f, {0, 1}),
                                  {.epsilon = 0, .feature_dim = 1});
       },
       {{-1, -1, 1, 3}, {2, 3}, {1, 1}}},
      {"batch_norm_grad",
       OpKind::kBatchNormGrad,
       [](Function& f) {
         return BatchNormGrad(F(f, {1, 2, 3, 4}, {2, 2}), V(f, {1, 2}), V(f, {2, 3}), V(f, {1, 1}),
                              F(f, {1, 0, 0, 0}, {2, 2}), {.epsilon = 0, .feature_dim = 1});
       },
       {{0, 0, 0, 0}, {-1, 0}, {1, 0}}},
      {"cholesky",
       OpKind::kCholesky,
       [](Function& f) { return Values{Slice(Cholesky(F(f, {4, 2, 2, 5}, {2, 2})), {1, 0}, {2, 2})}; },
       {{1, 2}}},
      {"convolution",
       OpKind::kConvolution,
       [](Function& f) {
         return Values{Convolution(F(f, {1, 2, 3}, {1, 3, 1}), F(f, {1, 10, 100}, {3, 1, 1}), ConvDims::ChannelsLast(1),
                                   {.padding = {{1, 1}}}),
                       Convolution(F(f, {1, 2, 3, 4}, {1, 1, 4}), F(f, {1, 1}, {1, 1, 2}), ConvDims::ChannelsFirst(1),
                                   {.strides = {2},
                                    .lhs_dilation = {1},
                                    .rhs_dilation = {1},
                                    .reversal = {true},
                                    .precision = {Precision::kHigh, Precision::kHigh}})};
       },
       {{210, 321, 32}, {3, 7}}},
      {"dot", OpKind::kDot, [](Function& f) { return Values{Dot(V(f, {1, 2}), V(f, {3, 4}))}; }, {{11}}},
      {"dot_general",
       OpKind::kDotGeneral,
       [](Function& f) {
         const Value a = F(f, {1, 2, 3, 4}, {2, 2}), b = F(f, {5, 6, 7, 8}, {2, 2});
         return Values{
             MatMul(a, b),
             DotGeneral(a, b,
                        {.lhs_batching = {0}, .rhs_batching = {0}, .lhs_contracting = {1}, .rhs_contracting = {1}},
                        {.precision = {Precision::kHighest, Precision::kHighest}}),
             DotGeneral(a, b, {.lhs_contracting = {1}, .rhs_contracting = {0}}, {.algorithm = DotAlgorithm{}})};
       },
       {{19, 22, 43, 50}, {17, 53}, {19, 22, 43, 50}}},
      {"einsum",
       OpKind::kEinsum,
       [](Function& f) { return Values{Einsum(F(f, {1, 2, 3, 4}, {2, 2}), F(f, {5, 6, 7, 8}, {2, 2}), "ab,bc->ac")}; },
       {{19, 22, 43, 50}}},
      {"fft",
       OpKind::kFft,
       [](Function& f) {
         const Value r = Fft(V(f, {1, 2, 3, 4}), FftType::kRfft, {4});
         return Values{r, Fft(r, FftType::kIrfft, {4}), Fft(C(f, {{1, 0}, {2, 0}}), FftType::kFft, {2})};
       },
       {{10, 0, -2, 2, -2, 0}, {1, 2, 3, 4}, {3, 0, -1, 0}}},
      {"triangular_solve",
       OpKind::kTriangularSolve,
       [](Function& f) { return Values{TriangularSolve(F(f, {2, 0, 1, 1}, {2, 2}), F(f, {2, 3}, {2, 1}))}; },
       {{1, 2}}},
      {"unary_einsum", OpKind::kUnaryEinsum,
       [](Function& f) { return Values{UnaryEinsum(F(f, {1, 2, 3, 4}, {2, 2}), "ab->a")}; }},
  };
}

std::vector<Case> Regions() {
  return {
      {"case",
       OpKind::kCase,
       [](Function& f) {
         const Value x = V(f, {1, 2});
         return builder::Case(N(f, 7), {[&] { return x; }, [&] { return Add(x, x); }});
       },
       {{2, 4}}},
      {"if",
       OpKind::kIf,
       [](Function& f) {
         const Value x = V(f, {1, 2});
         return If(Constant(f, true), [&] { return Negate(x); }, [&] { return x; });
       },
       {{-1, -2}}},
      {"map",
       OpKind::kMap,
       [](Function& f) {
         return Values{Map({V(f, {1, 2}), V(f, {3, 4})}, [](Value a, Value b) { return Multiply(a, b); })};
       },
       {{3, 8}}},
      {"reduce",
       OpKind::kReduce,
       [](Function& f) {
         const Value x = F(f, {1, 2, 3, 4}, {2, 2});
         return Values{Reduce(x, Constant(f, 10.0f), {1}, kSum),
                       Reduce(x, Reduction::kMax, {0, 1}),
                       Reduce(x, Reduction::kMin, {0}),
                       Reduce(x, Reduction::kProduct, {0}),
                       Reduce(I(f, {5, 7}), Reduction::kAnd, {0}),
                       Reduce(P(f, {0, 1}), Reduction::kOr, {0}),
                       Reduce(I(f, {-5, -7}), Reduction::kMax, {0})};
       },
       {{13, 17}, {4}, {1, 2}, {3, 8}, {5}, {1}, {-5}}},
      {"reduce_powers",
       OpKind::kReduce,
       [](Function& f) {
         const Value x = Convert(V(f, {0.5f, 1, 2, 8}), DType::kF8E8M0FNU);
         const auto reduced = [&](Reduction by) { return Convert(Reduce(x, by, {0}), DType::kF32); };
         return Values{reduced(Reduction::kMax), reduced(Reduction::kMin), reduced(Reduction::kProduct)};
       },
       {{8}, {0.5}, {8}}},
      {"reduce_two",
       OpKind::kReduce,
       [](Function& f) {
         // The largest element and where it is.
         return Reduce({V(f, {1, 3, 2}), Iota(f, {DType::kS32, {3}}, 0)}, {Constant(f, -1.0f), N(f, -1)}, {0},
                       [](std::span<const Value> a) {
                         const Value first = Compare(a[0], a[2], Direction::kGe);
                         return Values{Select(first, a[0], a[2]), Select(first, a[1], a[3])};
                       });
       },
       {{3}, {1}}},
      {"reduce_window",
       OpKind::kReduceWindow,
       [](Function& f) {
         return ReduceWindow({V(f, {1, 2, 3, 4})}, {Constant(f, 0.0f)},
                             {.size = {2}, .strides = {2}, .padding = {{1, 1}}}, kSum);
       },
       {{1, 5, 4}}},
      {"scatter",
       OpKind::kScatter,
       [](Function& f) {
         return Scatter({V(f, {1, 2, 3})}, I2(f, {2, 0}, {2, 1}), {V(f, {10, 20})},
                        {.inserted_window_dims = {0}, .scatter_dims_to_operand_dims = {0}, .index_vector_dim = 1}, kSum,
                        {.unique_indices = true});
       },
       {{21, 2, 13}}},
      {"select_and_scatter",
       OpKind::kSelectAndScatter,
       [](Function& f) {
         return Values{SelectAndScatter(
             V(f, {1, 3, 4, 2}), V(f, {10, 20}), Constant(f, 0.0f), {.size = {2}, .strides = {2}},
             [](Value a, Value b) { return Compare(a, b, Direction::kGe); }, kSum)};
       },
       {{0, 10, 20, 0}}},
      {"sort",
       OpKind::kSort,
       [](Function& f) {
         return Sort({V(f, {3, 1, 2}), I(f, {0, 1, 2})}, 0, true,
                     [](Value a, Value b, Value, Value) { return Compare(a, b, Direction::kLt); });
       },
       {{1, 2, 3}, {1, 2, 0}}},
      {"while",
       OpKind::kWhile,
       [](Function& f) {
         return While(
             {N(f, 0), Constant(f, 1.0f)}, [&](Value i, Value) { return Compare(i, N(f, 5), Direction::kLt); },
             [&](Value i, Value x) { return Values{Add(i, N(f, 1)), x * 2.0}; });
       },
       {{5}, {32}}},
      {"rng_bit_generator", OpKind::kRngBitGenerator,
       [](Function& f) {
         return RngBitGenerator(Constant(f, std::vector<uint64_t>{1, 2}, {2}), RngAlgorithm::kPhilox,
                                {DType::kU32, {4}});
       }},
      {"rng", OpKind::kRng,
       [](Function& f) {
         return Values{Rng(Constant(f, 0.0f), Constant(f, 1.0f), RngDistribution::kUniform, {2, 3})};
       }},
  };
}

std::vector<Case> DynamicExtents() {
  // A vector whose extent is not known before the program runs.
  const auto unknown = [](Function& f) { return SetDimensionSize(V(f, {1, 2, 3}), N(f, 2), 0); };
  return {
      {"get_dimension_size",
       OpKind::kGetDimensionSize,
       [](Function& f) { return Values{GetDimensionSize(V(f, {1, 2, 3}), 0)}; },
       {{3}}},
      {"set_dimension_size", OpKind::kSetDimensionSize,
       [=](Function& f) { return Values{GetDimensionSize(unknown(f), 0)}; }},
      {"dynamic_broadcast_in_dim",
       OpKind::kDynamicBroadcastInDim,
       [](Function& f) {
         return Values{DynamicBroadcastInDim(V(f, {1, 2}), I(f, {2, 2}), {0}, {DType::kF32, {2, 2}})};
       },
       {{1, 1, 2, 2}}},
      {"dynamic_conv",
       OpKind::kDynamicConv,
       [](Function& f) {
         return Values{DynamicConv(F(f, {1, 2, 3}, {1, 3, 1}), F(f, {1, 10, 100}, {3, 1, 1}), I2(f, {1, 1}, {1, 2}),
                                   ConvDims::ChannelsLast(1), {}, {DType::kF32, {1, 3, 1}})};
       },
       {{210, 321, 32}}},
      {"dynamic_gather",
       OpKind::kDynamicGather,
       [](Function& f) {
         return Values{DynamicGather(
             F(f, {1, 2, 3, 4, 5, 6}, {3, 2}), I2(f, {2, 0}, {2, 1}), I(f, {1, 2}),
             {.offset_dims = {1}, .collapsed_slice_dims = {0}, .start_index_map = {0}, .index_vector_dim = 1},
             {DType::kF32, {2, 2}})};
       },
       {{5, 6, 1, 2}}},
      {"dynamic_iota",
       OpKind::kDynamicIota,
       [](Function& f) { return Values{DynamicIota(I(f, {3}), 0, {DType::kF32, {3}})}; },
       {{0, 1, 2}}},
      {"dynamic_pad",
       OpKind::kDynamicPad,
       [](Function& f) {
         return Values{
             DynamicPad(V(f, {1, 2}), Constant(f, 9.0f), I(f, {1}), I(f, {0}), I(f, {1}), {DType::kF32, {4}})};
       },
       {{9, 1, 9, 2}}},
      {"dynamic_reshape",
       OpKind::kDynamicReshape,
       [](Function& f) { return Values{DynamicReshape(F(f, {1, 2, 3, 4}, {2, 2}), I(f, {4}), {DType::kF32, {4}})}; },
       {{1, 2, 3, 4}}},
      {"real_dynamic_slice",
       OpKind::kRealDynamicSlice,
       [](Function& f) {
         return Values{RealDynamicSlice(V(f, {1, 2, 3, 4}), I(f, {1}), I(f, {3}), I(f, {1}), {DType::kF32, {2}})};
       },
       {{2, 3}}},
  };
}

std::vector<Case> Process() {
  const Groups one{.ids = {{0}}};
  const auto two = [](Function& f) { return F(f, {1, 2, 3, 4}, {2, 2}); };
  const auto callee = [](Function& f, const char* name) -> Function& {
    Function& g = f.module().AddFunction(name);
    const Value x = g.Parameter({DType::kF32, {2}}, "x");
    g.Return({Add(x, x)});
    return g;
  };
  return {
      {"after_all", OpKind::kAfterAll,
       [](Function& f) { return OptimizationBarrier({AfterAll(f, {CreateToken(f), CreateToken(f)}), V(f, {1})}); }},
      {"create_token", OpKind::kCreateToken, [](Function& f) { return Values{CreateToken(f)}; }},
      {"all_gather",
       OpKind::kAllGather,
       [=](Function& f) { return Values{AllGather(two(f), 0, 1, one)}; },
       {{1, 2, 3, 4}}},
      {"all_reduce", OpKind::kAllReduce, [=](Function& f) { return AllReduce({two(f)}, one, kSum); }, {{1, 2, 3, 4}}},
      {"all_to_all",
       OpKind::kAllToAll,
       [=](Function& f) { return Values{AllToAll(two(f), 0, 1, 1, one)}; },
       {{1, 2, 3, 4}}},
      {"async", OpKind::kAsyncStart,
       [=](Function& f) {
         return AsyncDone(AsyncStart({two(f)}, [&](Value x) { return AllReduce({x}, one, kSum); }));
       }},
      {"async_done", OpKind::kAsyncDone,
       [=](Function& f) { return AsyncDone(AsyncStart({two(f)}, [&](Value x) { return AllGather(x, 1, 1, one); })); }},
      {"collective_broadcast",
       OpKind::kCollectiveBroadcast,
       [=](Function& f) { return Values{CollectiveBroadcast(two(f), one)}; },
       {{1, 2, 3, 4}}},
      {"collective_permute",
       OpKind::kCollectivePermute,
       [=](Function& f) { return Values{CollectivePermute(two(f), {{0, 0}})}; },
       {{1, 2, 3, 4}}},
      {"collective_reduce", OpKind::kCollectiveReduce,
       [=](Function& f) { return CollectiveReduce({two(f)}, one, kSum); }},
      {"reduce_scatter",
       OpKind::kReduceScatter,
       [=](Function& f) { return Values{ReduceScatter(two(f), 0, 1, one, kSum)}; },
       {{1, 2, 3, 4}}},
      {"cross_replica_sum", OpKind::kCrossReplicaSum,
       [=](Function& f) { return Values{CrossReplicaSum(two(f), {{0}})}; }},
      {"partition_id", OpKind::kPartitionId, [](Function& f) { return Values{PartitionId(f)}; }, {{0}}},
      {"replica_id", OpKind::kReplicaId, [](Function& f) { return Values{ReplicaId(f)}; }, {{0}}},
      {"sharding_constraint", OpKind::kShardingConstraint,
       [=](Function& f) {
         f.module().AddMesh("mesh", {{"a", 1}});
         return Values{ShardingConstraint(two(f), Sharding::Sdy("mesh", {{"a"}, {}}))};
       }},
      {"send", OpKind::kSend,
       [=](Function& f) {
         return Values{Send({two(f)}, CreateToken(f), {.handle = 1, .type = 2, .is_host_transfer = true})};
       }},
      {"recv", OpKind::kRecv,
       [](Function& f) {
         return Recv(CreateToken(f), {{DType::kF32, {2}}}, {.handle = 2, .type = 3, .is_host_transfer = true});
       }},
      {"infeed", OpKind::kInfeed, [](Function& f) { return Infeed(CreateToken(f), {{DType::kF32, {2}}}, "c"); }},
      {"outfeed", OpKind::kOutfeed, [=](Function& f) { return Values{Outfeed({two(f)}, CreateToken(f))}; }},
      {"call", OpKind::kCall, [=](Function& f) { return Call(callee(f, "doubled"), {V(f, {1, 2})}); }, {{2, 4}}},
      {"composite",
       OpKind::kComposite,
       [=](Function& f) {
         return Composite("my.double", {V(f, {1, 2})}, callee(f, "decomposed"), {{"k", "2 : i32"}}, 1);
       },
       {{2, 4}}},
      {"custom_call", OpKind::kCustomCall,
       [=](Function& f) {
         return CustomCall(f, "Nobody", {two(f)}, {{DType::kF32, {2, 2}}},
                           {.has_side_effect = true,
                            .backend_config = "{k = 4 : i64}",
                            .operand_layouts = {{0, 1}},
                            .result_layouts = {{1, 0}},
                            .output_operand_aliases = {{-1, 0}}});
       }},
      {"optimization_barrier",
       OpKind::kOptimizationBarrier,
       [=](Function& f) { return OptimizationBarrier({two(f), N(f, 3)}); },
       {{1, 2, 3, 4}, {3}}},
      {"tuple",
       OpKind::kTuple,
       [=](Function& f) { return Values{GetTupleElement(Tuple(f, {two(f), N(f, 3)}), 1)}; },
       {{3}}},
      {"get_tuple_element",
       OpKind::kGetTupleElement,
       [=](Function& f) { return Values{GetTupleElement(Tuple(f, {V(f, {1, 2})}), 0)}; },
       {{1, 2}}},
  };
}

}  // namespace

const std::vector<Case>& Cases() {
  static const std::vector<Case> kCases = [] {
    std::vector<Case> all;
    for (std::vector<Case> part : {Elementwise(), Movement(), Linalg(), Regions(), DynamicExtents(), Process()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  return kCases;
}

}  // namespace tenon::builder::testing
