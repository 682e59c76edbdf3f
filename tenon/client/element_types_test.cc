#include "tenon/client/element_types.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace tenon::client {
namespace {

// Every code of T decodes to a value that encodes to the same code; between two neighbours the nearer one wins, and the
// even one of two that are equally near.
template <class T>
void CheckAllCodes(int num_codes) {
  for (int code = 0; code < num_codes; ++code) {
    const T t = T::FromBits(static_cast<typename T::Bits>(code));
    const auto value = static_cast<double>(t);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(static_cast<double>(T(value))));
      continue;
    }
    EXPECT_EQ(T(value).bits, code) << value;
    const auto next = static_cast<double>(T::FromBits(static_cast<typename T::Bits>(code + 1)));
    if (code + 1 >= num_codes / 2 || !std::isfinite(next)) continue;  // neighbours of one sign
    const double middle = value + (next - value) / 2;
    EXPECT_EQ(T(middle).bits, code % 2 == 0 ? code : code + 1) << middle;
    EXPECT_EQ(T(std::nextafter(middle, value)).bits, code);
    EXPECT_EQ(T(std::nextafter(middle, next)).bits, code + 1);
  }
}

TEST(ElementTypes, EveryCode) {
  CheckAllCodes<F16>(1 << 16);
  CheckAllCodes<BF16>(1 << 16);
  CheckAllCodes<F8E5M2>(256);
  CheckAllCodes<F8E4M3>(256);
  CheckAllCodes<F8E3M4>(256);
  CheckAllCodes<F8E4M3FN>(256);
  CheckAllCodes<F8E4M3B11FNUZ>(256);
  CheckAllCodes<F8E5M2FNUZ>(256);
  CheckAllCodes<F8E4M3FNUZ>(256);
  CheckAllCodes<F4E2M1FN>(16);
  CheckAllCodes<F6E2M3FN>(64);
  CheckAllCodes<F6E3M2FN>(64);
}

TEST(ElementTypes, F16AgreesWithTheCompiler) {
  for (int code = 0; code < (1 << 16); ++code) {
    const auto bits = static_cast<uint16_t>(code);
    _Float16 native;
    std::memcpy(&native, &bits, 2);
    const auto ours = static_cast<double>(F16::FromBits(bits));
    if (std::isnan(static_cast<double>(native))) {
      EXPECT_TRUE(std::isnan(ours));
    } else {
      EXPECT_EQ(ours, static_cast<double>(native));
    }
  }
}

TEST(ElementTypes, LargestSmallestAndOverflow) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(static_cast<double>(F8E4M3FN(448)), 448);
  EXPECT_TRUE(std::isnan(static_cast<double>(F8E4M3FN(1000))));
  EXPECT_EQ(static_cast<double>(F8E5M2(1e9)), inf);
  EXPECT_EQ(static_cast<double>(F8E5M2(57344)), 57344);
  EXPECT_TRUE(std::isnan(static_cast<double>(F8E4M3FNUZ(-inf))));
  EXPECT_EQ(static_cast<double>(F8E4M3FNUZ(240)), 240);
  EXPECT_EQ(F8E4M3FNUZ(-0.0).bits, 0);
  EXPECT_EQ(static_cast<double>(F4E2M1FN(100)), 6);
  EXPECT_EQ(static_cast<double>(F6E2M3FN(-100)), -7.5);
  EXPECT_EQ(static_cast<double>(F6E3M2FN(100)), 28);
  EXPECT_EQ(static_cast<double>(F16(65519)), 65504);
  EXPECT_EQ(static_cast<double>(F16(65520)), inf);
  EXPECT_EQ(static_cast<float>(BF16(1.0f / 3)), 0.333984375f);
  EXPECT_EQ(static_cast<double>(BF16(1e300)), inf);
  EXPECT_EQ(F16(-1e-30).bits, 0x8000);
}

TEST(ElementTypes, PowersOfTwo) {
  for (int code = 0; code < 255; ++code) {
    F8E8M0FNU f;
    f.bits = static_cast<uint8_t>(code);
    EXPECT_EQ(static_cast<double>(f), std::ldexp(1.0, code - 127));
    EXPECT_EQ(F8E8M0FNU(static_cast<double>(f)).bits, code);
  }
  EXPECT_EQ(F8E8M0FNU(0).bits, 255);
  EXPECT_EQ(F8E8M0FNU(-1).bits, 255);
  EXPECT_EQ(static_cast<double>(F8E8M0FNU(1.4)), 1);
  EXPECT_EQ(static_cast<double>(F8E8M0FNU(1.6)), 2);
}

TEST(ElementTypes, SmallIntegersIgnoreHighBits) {
  EXPECT_EQ(static_cast<int>(S4(-2)), -2);
  S4 unextended;
  unextended.byte = 14;  // as some plugins return -2
  EXPECT_EQ(static_cast<int>(unextended), -2);
  EXPECT_EQ(unextended, S4(-2));
  EXPECT_EQ(static_cast<int>(U4(14)), 14);
  EXPECT_EQ(static_cast<int>(S2(-1)), -1);
  EXPECT_EQ(static_cast<int>(U2(3)), 3);
  EXPECT_EQ(static_cast<int>(S1(-1)), -1);
  EXPECT_EQ(static_cast<int>(U1(1)), 1);
}

TEST(ElementTypes, TypesOfCpp) {
  static_assert(kDTypeOf<bool> == DType::kPred && kDTypeOf<long> == DType::kS64 && kDTypeOf<long long> == DType::kS64);
  static_assert(kDTypeOf<const float> == DType::kF32 && kDTypeOf<void*> == DType::kInvalid &&
                kDTypeOf<BF16> == DType::kBF16);
  static_assert(sizeof(F16) == 2 && sizeof(F4E2M1FN) == 1 && sizeof(S1) == 1);
  EXPECT_EQ(HostElementSize(DType::kC128), 16u);
  EXPECT_EQ(HostElementSize(DType::kU2), 1u);
  EXPECT_EQ(HostElementSize(DType::kToken), 0u);
}

}  // namespace
}  // namespace tenon::client
