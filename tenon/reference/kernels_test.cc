#include "tenon/reference/kernels.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace tenon::reference {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <class T>
T Binary(const char* op, T a, T b) {
  const DType types[] = {Element<T>::kType, Element<T>::kType};
  const Kernel kernel = FindKernel(op, types, Element<T>::kType, {});
  EXPECT_TRUE(kernel) << op;
  const void* inputs[] = {&a, &b, nullptr};
  T out{};
  if (kernel) kernel.Run(inputs, &out, 1);
  return out;
}

template <class To, class From>
To Unary(const char* op, From a, const KernelAttributes& attributes = {}) {
  const DType types[] = {Element<From>::kType};
  const Kernel kernel = FindKernel(op, types, Element<To>::kType, attributes);
  EXPECT_TRUE(kernel) << op;
  const void* inputs[] = {&a, nullptr, nullptr};
  To out{};
  if (kernel) kernel.Run(inputs, &out, 1);
  return out;
}

template <class T>
bool Compare(Direction direction, T a, T b, bool total = false) {
  const DType types[] = {Element<T>::kType, Element<T>::kType};
  const void* inputs[] = {&a, &b, nullptr};
  Pred out{};
  FindKernel("stablehlo.compare", types, DType::kPred, {direction, total, 0, 0}).Run(inputs, &out, 1);
  return Load(out);
}

TEST(KernelsTest, IntegerDivisionByZeroAndOverflowAreDefined) {
  const int32_t min = std::numeric_limits<int32_t>::min();
  EXPECT_EQ(Binary<int32_t>("stablehlo.divide", 7, 0), -1);
  EXPECT_EQ(Binary<uint8_t>("stablehlo.divide", 7, 0), 255);
  EXPECT_EQ(Binary<int32_t>("stablehlo.divide", min, -1), min);
  EXPECT_EQ(Binary<int64_t>("stablehlo.divide", std::numeric_limits<int64_t>::min(), -1),
            std::numeric_limits<int64_t>::min());
  EXPECT_EQ(Binary<int32_t>("stablehlo.divide", -7, 2), -3);
  EXPECT_EQ(Binary<int32_t>("stablehlo.remainder", 7, 0), 7);
  EXPECT_EQ(Binary<int32_t>("stablehlo.remainder", min, -1), 0);
  EXPECT_EQ(Binary<int32_t>("stablehlo.remainder", -7, 3), -1);
}

TEST(KernelsTest, IntegerPowers) {
  EXPECT_EQ(Binary<int32_t>("stablehlo.power", 0, 0), 1);
  EXPECT_EQ(Binary<int32_t>("stablehlo.power", 2, -1), 0);
  EXPECT_EQ(Binary<int32_t>("stablehlo.power", -1, -3), -1);
  EXPECT_EQ(Binary<int32_t>("stablehlo.power", 1, -3), 1);
  EXPECT_EQ(Binary<int8_t>("stablehlo.power", 3, 5), static_cast<int8_t>(243));
}

TEST(KernelsTest, ShiftsBeyondTheWidth) {
  EXPECT_EQ(Binary<int32_t>("stablehlo.shift_left", 1, 32), 0);
  EXPECT_EQ(Binary<int32_t>("stablehlo.shift_left", 1, -1), 0);
  EXPECT_EQ(Binary<int8_t>("stablehlo.shift_right_logical", -1, 4), 15);
  EXPECT_EQ(Binary<int8_t>("stablehlo.shift_right_logical", -1, 8), 0);
  EXPECT_EQ(Binary<int32_t>("stablehlo.shift_right_arithmetic", -8, 100), -1);
  EXPECT_EQ(Binary<uint8_t>("stablehlo.shift_right_arithmetic", 0x80, 1), 0xc0);
}

TEST(KernelsTest, BitCounts) {
  EXPECT_EQ(Unary<int8_t>("stablehlo.count_leading_zeros", int8_t{0}), 8);
  EXPECT_EQ(Unary<int8_t>("stablehlo.count_leading_zeros", int8_t{-1}), 0);
  EXPECT_EQ(Unary<int16_t>("stablehlo.popcnt", int16_t{-1}), 16);
}

TEST(KernelsTest, BooleansAddAndMultiplyAsLogic) {
  EXPECT_TRUE(Load(Binary<Pred>("stablehlo.add", {1}, {1})));
  EXPECT_FALSE(Load(Binary<Pred>("stablehlo.multiply", {1}, {0})));
  EXPECT_TRUE(Load(Binary<Pred>("stablehlo.maximum", {1}, {0})));
  const DType preds[] = {DType::kPred, DType::kPred};
  EXPECT_FALSE(FindKernel("stablehlo.subtract", preds, DType::kPred, {}));
}

TEST(KernelsTest, MaximumAndMinimumSeeNanAndSignedZeros) {
  EXPECT_TRUE(std::isnan(Binary("stablehlo.maximum", kNan, 1.0f)));
  EXPECT_TRUE(std::isnan(Binary("stablehlo.minimum", 1.0f, kNan)));
  EXPECT_FALSE(std::signbit(Binary("stablehlo.maximum", -0.0f, 0.0f)));
  EXPECT_FALSE(std::signbit(Binary("stablehlo.maximum", 0.0f, -0.0f)));
  EXPECT_TRUE(std::signbit(Binary("stablehlo.minimum", 0.0f, -0.0f)));
}

TEST(KernelsTest, FloatRemainderAndPower) {
  EXPECT_TRUE(std::isnan(Binary("stablehlo.remainder", 1.0f, 0.0f)));
  EXPECT_TRUE(std::isnan(Binary("stablehlo.remainder", kInf, 2.0f)));
  EXPECT_EQ(Binary("stablehlo.remainder", 5.0f, kInf), 5.0f);
  EXPECT_TRUE(std::signbit(Binary("stablehlo.remainder", -4.0f, 2.0f)));
  EXPECT_EQ(Binary("stablehlo.power", kNan, 0.0f), 1.0f);
  EXPECT_EQ(Binary("stablehlo.power", -0.0f, -1.0f), -kInf);
  EXPECT_TRUE(std::isnan(Binary("stablehlo.power", -8.0f, 1.0f / 3)));
}

TEST(KernelsTest, RoundingAndSigns) {
  EXPECT_EQ(Unary<float>("stablehlo.round_nearest_afz", 2.5f), 3.0f);
  EXPECT_EQ(Unary<float>("stablehlo.round_nearest_afz", 0.49999997f), 0.0f);
  EXPECT_EQ(Unary<float>("stablehlo.round_nearest_even", 2.5f), 2.0f);
  EXPECT_TRUE(std::signbit(Unary<float>("stablehlo.ceil", -0.5f)));
  EXPECT_TRUE(std::signbit(Unary<float>("stablehlo.sign", -0.0f)));
  EXPECT_TRUE(std::isnan(Unary<float>("stablehlo.sign", kNan)));
  EXPECT_EQ(Unary<int32_t>("stablehlo.abs", std::numeric_limits<int32_t>::min()), std::numeric_limits<int32_t>::min());
}

TEST(KernelsTest, ConversionsSaturateAndWrap) {
  EXPECT_EQ(Unary<int32_t>("stablehlo.convert", kNan), 0);
  EXPECT_EQ(Unary<int32_t>("stablehlo.convert", kInf), std::numeric_limits<int32_t>::max());
  EXPECT_EQ(Unary<int64_t>("stablehlo.convert", -1e30f), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(Unary<uint8_t>("stablehlo.convert", -5.0f), 0);
  EXPECT_EQ(Unary<uint64_t>("stablehlo.convert", 1e30f), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(Unary<int8_t>("stablehlo.convert", int32_t{300}), 44);
  EXPECT_EQ((Unary<TinyInt<4, true>>("stablehlo.convert", 100.0f).value), 7);
  EXPECT_TRUE(Load(Unary<Pred>("stablehlo.convert", kNan)));
  EXPECT_FALSE(Load(Unary<Pred>("stablehlo.convert", -0.0f)));
  EXPECT_TRUE(Load(Unary<Pred>("stablehlo.convert", -0.5f)));
  EXPECT_EQ(Unary<float>("stablehlo.convert", ~uint64_t{0}), 18446744073709551616.0f);
  // f64 to f16 goes through f32: twice rounded.
  EXPECT_EQ(Load(Unary<F16>("stablehlo.convert", 1 + 0x1p-11 + 0x1p-30)), 1.0f);
  EXPECT_EQ(Load(Unary<F16>("stablehlo.convert", int32_t{65519})), 65504.0f);
  EXPECT_EQ(Load(Unary<F16>("stablehlo.convert", int32_t{65520})), kInf);
}

TEST(KernelsTest, Comparisons) {
  EXPECT_FALSE(Compare(Direction::kEq, kNan, kNan));
  EXPECT_TRUE(Compare(Direction::kNe, kNan, kNan));
  EXPECT_FALSE(Compare(Direction::kGe, kNan, 1.0f));
  EXPECT_TRUE(Compare(Direction::kEq, 0.0f, -0.0f));
  EXPECT_TRUE(Compare(Direction::kLt, -0.0f, 0.0f, true));
  EXPECT_TRUE(Compare(Direction::kGt, kNan, kInf, true));
  EXPECT_TRUE(Compare(Direction::kLt, -kNan, -kInf, true));
  EXPECT_TRUE(Compare(Direction::kEq, kNan, kNan, true));
  EXPECT_TRUE(Compare<uint8_t>(Direction::kGt, 200, 100));
  EXPECT_TRUE(Compare<std::complex<float>>(Direction::kLt, {1, 2}, {1, 3}));
  EXPECT_FALSE(Compare<std::complex<float>>(Direction::kLt, {1, 2}, {1, kNan}));
}

TEST(KernelsTest, NarrowFloatsRoundAfterEveryOperation) {
  BF16 sum = Store<BF16>(256.0f);
  for (int i = 0; i < 3; ++i) sum = Binary("stablehlo.add", sum, Store<BF16>(1.0f));
  EXPECT_EQ(Load(sum), 256.0f);
}

TEST(KernelsTest, ReducePrecision) {
  const KernelAttributes half{Direction::kEq, false, 5, 10};
  EXPECT_EQ(Unary<float>("stablehlo.reduce_precision", 65520.0f, half), kInf);
  EXPECT_EQ(Unary<float>("stablehlo.reduce_precision", 65519.0f, half), 65504.0f);
  EXPECT_EQ(Unary<float>("stablehlo.reduce_precision", 6e-5f, half), 0.0f);
  EXPECT_TRUE(std::isnan(Unary<float>("stablehlo.reduce_precision", kNan, {Direction::kEq, false, 5, 0})));
  // Without a mantissa, the exponent's code is what is even: that of 2, and that of 8.
  EXPECT_EQ(Unary<float>("stablehlo.reduce_precision", 3.0f, {Direction::kEq, false, 8, 0}), 2.0f);
  EXPECT_EQ(Unary<float>("stablehlo.reduce_precision", -6.0f, {Direction::kEq, false, 5, 0}), -8.0f);
  // A type's own range keeps its subnormal numbers; fewer bits of mantissa make their steps wider.
  EXPECT_EQ(Unary<F16>("stablehlo.reduce_precision", F16{1}, half).bits, 1);
  EXPECT_EQ(Unary<F16>("stablehlo.reduce_precision", F16{0x3ff}, {Direction::kEq, false, 5, 2}).bits, 0x400);
  EXPECT_EQ(Unary<F16>("stablehlo.reduce_precision", F16{0x07f}, {Direction::kEq, false, 5, 2}).bits, 0x000);
  EXPECT_EQ(Unary<F16>("stablehlo.reduce_precision", F16{0x3ff}, {Direction::kEq, false, 4, 10}).bits, 0);
  using F8 = TinyFloat<DType::kF8E5M2>;
  EXPECT_EQ(Unary<F8>("stablehlo.reduce_precision", F8{3}, {Direction::kEq, false, 5, 2}).bits, 3);
  EXPECT_EQ(Unary<F8>("stablehlo.reduce_precision", F8{3}, {Direction::kEq, false, 4, 2}).bits, 0);
  // Also while others flush theirs.
  const FloatEnvironment flushing(/*flush_denormals=*/true);
  EXPECT_EQ(Unary<BF16>("stablehlo.reduce_precision", BF16{7}, {Direction::kEq, false, 8, 7}).bits, 7);
  EXPECT_EQ(std::bit_cast<uint32_t>(Unary<float>("stablehlo.reduce_precision", std::bit_cast<float>(700007u),
                                                 {Direction::kEq, false, 8, 7})),
            720896u);
}

TEST(KernelsTest, ComplexDivisionAtTheEdges) {
  using C = std::complex<float>;
  const C by_zero = Binary<C>("stablehlo.divide", {1, 0}, {0, 0});
  EXPECT_EQ(by_zero.real(), kInf);
  EXPECT_TRUE(std::isnan(by_zero.imag()));
  EXPECT_EQ(Binary<C>("stablehlo.divide", {1e30f, 1e30f}, {1e30f, 1e30f}), C(1, 0));
  EXPECT_EQ(Binary<C>("stablehlo.power", {0, 0}, {0, 0}), C(1, 0));
  EXPECT_EQ(Binary<C>("stablehlo.power", {0, 0}, {2, 1}), C(0, 0));
}

TEST(KernelsTest, SpecialFunctions) {
  EXPECT_EQ(Unary<float>("chlo.lgamma", -kInf), kInf);
  EXPECT_EQ(Unary<float>("chlo.lgamma", -1.0f), kInf);
  EXPECT_TRUE(std::isnan(Unary<float>("chlo.digamma", -1.0f)));
  EXPECT_DOUBLE_EQ(Unary<double>("chlo.digamma", 1.0), -0.57721566490153286);
  EXPECT_EQ(Unary<float>("chlo.erf_inv", 1.0f), kInf);
  EXPECT_TRUE(std::isnan(Unary<float>("chlo.erf_inv", 1.5f)));
  EXPECT_DOUBLE_EQ(Unary<double>("chlo.erf_inv", 0.5), 0.47693627620446987);
  EXPECT_DOUBLE_EQ(Binary<double>("chlo.zeta", 2.0, 1.0), 1.6449340668482264);
  EXPECT_FLOAT_EQ(Binary<float>("chlo.zeta", 3.0f, -0.5f), 0.41439834f);
  EXPECT_EQ(Binary<float>("chlo.zeta", 1.0f, 2.0f), kInf);
  EXPECT_DOUBLE_EQ(Binary<double>("chlo.polygamma", 1.0, 1.0), 1.6449340668482264);
  EXPECT_TRUE(std::isnan(Binary<float>("chlo.polygamma", -1.0f, 1.0f)));
  EXPECT_DOUBLE_EQ(Unary<double>("chlo.bessel_i1e", 1.0), 0.20791041534970845);
  EXPECT_EQ(Unary<float>("chlo.bessel_i1e", kInf), 0.0f);
  EXPECT_EQ(std::bit_cast<uint32_t>(Binary<float>("chlo.next_after", 0.0f, -1.0f)), 0x80000001u);
  EXPECT_EQ(Binary<int32_t>("chlo.mulhi", 1 << 30, 8), 2);
  EXPECT_EQ(Binary<uint64_t>("chlo.mulhi", ~uint64_t{0}, ~uint64_t{0}), ~uint64_t{0} - 1);
}

}  // namespace
}  // namespace tenon::reference
