// Every operation on every type, at every level, against KIR's evaluator.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tenon/emit_llvm/emit.h"
#include "tenon/emit_llvm/testing/run.h"
#include "tenon/kir/builder.h"

namespace tenon::emit_llvm {
namespace {

using namespace kir;  // NOLINT: this file is mostly KIR
using testing::CompareWithEvaluator;

constexpr DType kFloats[] = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16};
constexpr DType kIntegers[] = {DType::kS8,  DType::kS16, DType::kS32, DType::kS64, DType::kU8, DType::kU16,
                               DType::kU32, DType::kU64, DType::kS4,  DType::kU4,  DType::kS2, DType::kU2};

std::vector<DType> AllTypes() {
  std::vector<DType> types(std::begin(kFloats), std::end(kFloats));
  types.insert(types.end(), std::begin(kIntegers), std::end(kIntegers));
  types.push_back(DType::kPred);
  return types;
}

/// Several outputs out_k[i] = f_k(x[i], y[i], z[i]) of one kernel.
struct Pointwise {
  explicit Pointwise(DType type, int64_t extent = 150) : n(Size::Of(extent)) {
    i = b.AddDim(n);
    const Buf bx = b.AddBuffer(BufKind::kArg, type, {n}, {Size::Of(1)});
    const Buf by = b.AddBuffer(BufKind::kArg, type, {n}, {Size::Of(1)});
    const Buf bz = b.AddBuffer(BufKind::kArg, type, {n}, {Size::Of(1)});
    x = b.Read(bx, {At(i)});
    y = b.Read(by, {At(i)});
    z = b.Read(bz, {At(i)});
    stage.dims = {i};
  }
  void Out(Val v) {
    const Buf out = b.AddBuffer(BufKind::kOut, b.type(v), {n}, {Size::Of(1)});
    stage.stores.push_back({.buf = out, .at = {At(i)}, .guard = {}, .value = v});
  }
  Kernel Finish() {
    b.AddStage(stage);
    return b.Finish();
  }
  KernelBuilder b;
  Size n;
  DimId i = 0;
  Val x = 0, y = 0, z = 0;
  Stage stage;
};

class Scalar : public ::testing::TestWithParam<isa::IsaLevel> {
 protected:
  void SetUp() override {
    if (GetParam() > isa::DetectedIsa()) GTEST_SKIP() << "this machine lacks " << isa::IsaLevelName(GetParam());
  }
  void Expect(const Kernel& kernel, std::string_view what, const testing::RunOptions& options = {}) {
    const std::string difference = CompareWithEvaluator(kernel, GetParam(), options);
    EXPECT_EQ(difference, "") << what << (difference.empty() ? "" : "\n" + Print(kernel));
  }
};
INSTANTIATE_TEST_SUITE_P(Levels, Scalar, ::testing::ValuesIn(isa::kAllIsaLevels),
                         [](const auto& info) { return std::string(isa::IsaLevelName(info.param)); });

TEST_P(Scalar, FloatOperations) {
  for (DType type : kFloats) {
    for (const std::vector<Op>& ops :
         {std::vector<Op>{Op::kAdd, Op::kSub, Op::kMul, Op::kDiv}, {Op::kMin, Op::kMax}, {Op::kRem}}) {
      Pointwise p(type);
      for (Op op : ops) p.Out(p.b.Binary(op, p.x, p.y));
      Expect(p.Finish(), DTypeName(type));
    }
    Pointwise unary(type);
    for (Op op : {Op::kNeg, Op::kAbs, Op::kSign, Op::kSqrt}) unary.Out(unary.b.Unary(op, unary.x));
    Expect(unary.Finish(), DTypeName(type));
    Pointwise rounding(type);
    for (Op op : {Op::kFloor, Op::kCeil, Op::kRoundEven, Op::kRoundAway, Op::kTrunc})
      rounding.Out(rounding.b.Unary(op, rounding.x));
    rounding.Out(rounding.b.IsFinite(rounding.x));
    Expect(rounding.Finish(), DTypeName(type));
  }
  for (DType type : {DType::kF32, DType::kF64}) {
    if (GetParam() == isa::IsaLevel::kSse4) break;  // rounds the product
    Pointwise p(type);
    p.Out(p.b.Fma(p.x, p.y, p.z));
    Expect(p.Finish(), "fma");
  }
}

TEST_P(Scalar, Subnormals) {
  for (DType type : kFloats) {
    Pointwise p(type);
    for (Op op : {Op::kAdd, Op::kMul, Op::kMin, Op::kMax}) p.Out(p.b.Binary(op, p.x, p.y));
    for (Op op : {Op::kNeg, Op::kAbs, Op::kSign, Op::kSqrt, Op::kCeil}) p.Out(p.b.Unary(op, p.x));
    p.Out(p.b.Compare(kEq, p.x, p.y));
    p.Out(p.b.Compare(kLt, p.x, p.y, true));
    p.Out(p.b.Convert(type == DType::kBF16 ? DType::kF32 : DType::kBF16, p.x));
    p.Out(p.b.Convert(type == DType::kF64 ? DType::kF32 : DType::kF64, p.x));
    p.Out(p.b.Convert(DType::kPred, p.x));
    for (const double divisor : {0x1p-10, 1.0, HUGE_VAL}) p.Out(p.b.Rem(p.x, p.b.Const(type, divisor)));
    // Small positive and negative integers as bits: subnormals of every type; then the smallest normals and zeros.
    const int shift = type == DType::kF16 ? 10 : type == DType::kBF16 ? 7 : type == DType::kF32 ? 23 : 52;
    testing::RunOptions options;
    options.fill = [&](Buf buffer, int64_t index, uint64_t* bits) {
      *bits = static_cast<uint64_t>((index * 7 + buffer) % 13);
      if (index % 3 == 0) *bits = (*bits << shift) >> (index % 2);
      if (index % 5 < 2) *bits |= uint64_t{1} << (DTypeBits(type) - 1);
      return true;
    };
    Expect(p.Finish(), DTypeName(type), options);
  }
}

// Of two that are known, one is enough to know which zero and which NaN is meant.
TEST_P(Scalar, ExtremesAndSignsOfConstants) {
  for (DType type : {DType::kF32, DType::kF64}) {
    for (const double c : {0.0, -0.0, 1.5, -3.0, HUGE_VAL, -HUGE_VAL}) {
      for (const int64_t extent : {150, 1}) {
        Pointwise p(type, extent);
        const Val constant = p.b.Const(type, c);
        for (Op op : {Op::kMin, Op::kMax}) {
          p.Out(p.b.Binary(op, p.x, constant));
          p.Out(p.b.Binary(op, constant, p.y));
        }
        p.Out(p.b.Binary(Op::kMin, p.b.Const(type, 4.0), p.b.Binary(Op::kMax, constant, p.z)));
        const Kernel kernel = p.Finish();
        for (const bool subnormal : {false, true}) {
          testing::RunOptions options;
          if (subnormal) {
            options.fill = [&](Buf buffer, int64_t index, uint64_t* bits) {
              *bits = static_cast<uint64_t>((index * 7 + buffer) % 5);
              if (index % 3 < 2) *bits |= uint64_t{1} << (DTypeBits(type) - 1);
              return true;
            };
          }
          Expect(kernel, std::string(DTypeName(type)) + " and " + std::to_string(c), options);
        }
      }
    }
  }
}

// Whoever makes the code: what is beside a constant that changes no number becomes zero all the same.
TEST_P(Scalar, SubnormalsBesideNeutralConstants) {
  for (DType type : {DType::kF32, DType::kF64}) {
    for (const int64_t extent : {150, 1}) {
      Pointwise p(type, extent);
      const auto constant = [&](double c) { return p.b.Const(type, c); };
      for (const double one : {1.0, -1.0}) {
        p.Out(p.b.Mul(p.x, constant(one)));
        p.Out(p.b.Div(p.x, constant(one)));
      }
      for (const double zero : {0.0, -0.0}) {
        p.Out(p.b.Add(p.x, constant(zero)));
        p.Out(p.b.Sub(p.x, constant(zero)));
        p.Out(p.b.Sub(constant(zero), p.x));
      }
      p.Out(p.b.Min(constant(HUGE_VAL), p.x));
      p.Out(p.b.Max(p.x, constant(-HUGE_VAL)));
      testing::RunOptions options;
      options.fill = [&](Buf buffer, int64_t index, uint64_t* bits) {
        *bits = static_cast<uint64_t>((index * 7 + buffer) % 5 + 1);
        if (index % 3 < 2) *bits |= uint64_t{1} << (DTypeBits(type) - 1);
        return true;
      };
      Expect(p.Finish(), DTypeName(type), options);
    }
  }
}

TEST_P(Scalar, ZeroHasOneSignOnlyInSomeTypes) {
  for (DType type : {DType::kF8E5M2FNUZ, DType::kF8E4M3FNUZ, DType::kF8E4M3B11FNUZ, DType::kF8E4M3FN, DType::kF16}) {
    for (const int64_t extent : {int64_t{1}, int64_t{300}}) {
      Pointwise p(type, extent);
      p.Out(p.b.Convert(DType::kF32, p.b.Neg(p.x)));
      p.Out(p.b.Convert(DType::kF32, p.b.Abs(p.x)));
      p.Out(p.b.Convert(DType::kF32, p.b.Sign(p.b.Neg(p.x))));
      testing::RunOptions options;
      options.fill = [](Buf, int64_t index, uint64_t* bits) {
        *bits = static_cast<uint64_t>(index) & 0xff;
        return true;
      };
      Expect(p.Finish(), DTypeName(type), options);
    }
  }
}

TEST_P(Scalar, RemaindersOfAnySize) {
  for (DType type : kFloats) {
    for (const int64_t extent : {int64_t{1}, int64_t{2000}}) {
      for (const uint64_t near : {0, 1, 2}) {
        Pointwise p(type, extent);
        p.Out(p.b.Rem(p.x, p.y));
        const int bits_of = static_cast<int>(DTypeBits(type));
        testing::RunOptions options;
        options.fill = [&](Buf buffer, int64_t index, uint64_t* bits) {
          // Any bits; operands of like size; and multiples of the divisor, and what lies beside them.
          uint64_t h =
              static_cast<uint64_t>(index) * 0x9e3779b97f4a7c15u + (near == 0 ? buffer * 0x94d049bb133111ebu : 0);
          h ^= h >> 29;
          h *= 0xbf58476d1ce4e5b9u;
          h ^= h >> 32;
          *bits = h >> (64 - bits_of);
          if (near != 0 && buffer == 0) *bits += static_cast<uint64_t>(index % 9) - 4;
          if (near == 2 && buffer == 0) *bits += uint64_t{1} << (bits_of - 9);
          if (index % 97 == 5) *bits = 0;
          return true;
        };
        Expect(p.Finish(), DTypeName(type), options);
      }
    }
  }
}

TEST_P(Scalar, IntegerOperations) {
  for (DType type : kIntegers) {
    Pointwise p(type);
    for (Op op : {Op::kAdd, Op::kSub, Op::kMul, Op::kMin, Op::kMax, Op::kAnd, Op::kOr, Op::kXor})
      p.Out(p.b.Binary(op, p.x, p.y));
    Expect(p.Finish(), DTypeName(type));
    Pointwise divide(type);
    for (Op op : {Op::kDiv, Op::kRem}) divide.Out(divide.b.Binary(op, divide.x, divide.y));
    Expect(divide.Finish(), DTypeName(type));
    Pointwise shift(type);
    for (Op op : {Op::kShl, Op::kShrLogical, Op::kShrArith}) shift.Out(shift.b.Binary(op, shift.x, shift.y));
    Expect(shift.Finish(), DTypeName(type));
    Pointwise unary(type);
    for (Op op : {Op::kNeg, Op::kAbs, Op::kSign, Op::kNot, Op::kClz, Op::kPopcnt}) {
      if (IsUnsigned(type) && (op == Op::kAbs || op == Op::kSign || op == Op::kNeg)) continue;
      unary.Out(unary.b.Unary(op, unary.x));
    }
    Expect(unary.Finish(), DTypeName(type));
  }
  Pointwise p(DType::kPred);
  for (Op op : {Op::kAdd, Op::kMul, Op::kMin, Op::kMax, Op::kAnd, Op::kOr, Op::kXor}) p.Out(p.b.Binary(op, p.x, p.y));
  p.Out(p.b.Not(p.x));
  Expect(p.Finish(), "pred");
}

// Narrow lanes have no shifts of their own: by what all of them share, by amounts of each, and by too much.
TEST_P(Scalar, ShiftsOfNarrowLanes) {
  for (DType type : {DType::kS8, DType::kU8, DType::kS16, DType::kU16}) {
    for (const int64_t extent : {int64_t{6}, int64_t{210}}) {
      for (int64_t by = 0; by <= DTypeBits(type); ++by) {
        Pointwise p(type, extent);
        for (Op op : {Op::kShl, Op::kShrLogical, Op::kShrArith}) p.Out(p.b.Binary(op, p.x, p.b.Const(type, by)));
        Expect(p.Finish(), std::string(DTypeName(type)) + " by " + std::to_string(by));
      }
      Pointwise p(type, extent);
      const Val amounts = p.b.And(p.y, p.b.Const(type, DTypeBits(type) - 1));
      for (Op op : {Op::kShl, Op::kShrLogical, Op::kShrArith}) p.Out(p.b.Binary(op, p.x, amounts));
      Expect(p.Finish(), std::string(DTypeName(type)) + " by amounts of each");
    }
  }
}

// Expressions of which AVX-512 does several operations at once: of three values or fewer, of masks and what they leave,
// of numbers that were masked before they were shifted, and of values that others read as well.
TEST_P(Scalar, LogicOfSeveralOperations) {
  std::mt19937_64 rng(11);
  const auto below = [&](uint64_t n) { return static_cast<size_t>(rng() % n); };
  for (DType type : {DType::kU8, DType::kS16, DType::kU32, DType::kS32, DType::kU64}) {
    const int64_t masks[] = {0x55, 0x33, -1, 0, ~int64_t{0x55}, 15, 8};
    for (int round = 0; round < 40; ++round) {
      Pointwise p(type, round % 2 == 0 ? 150 : 23);
      std::vector<Val> values = {p.x, p.y, p.z};
      for (int64_t mask : masks) values.push_back(p.b.Const(type, mask));
      for (int step = 0; step < 12; ++step) {
        const Val a = values[below(values.size())];
        const Val b = values[step < 4 ? below(values.size()) : values.size() - 1 - below(3)];
        const Op logic[] = {Op::kAnd, Op::kOr, Op::kXor};
        const size_t kind = below(5);
        values.push_back(kind == 3   ? p.b.Unary(Op::kNot, b)
                         : kind == 4 ? p.b.Binary(below(2) == 0 ? Op::kShl : Op::kShrLogical, b,
                                                  p.b.Const(type, static_cast<int64_t>(below(5))))
                                     : p.b.Binary(logic[kind], a, b));
      }
      p.Out(values.back());
      if (below(2) == 0) p.Out(values[values.size() - 3]);
      Expect(p.Finish(), std::string(DTypeName(type)) + " round " + std::to_string(round));
    }
  }
}

TEST_P(Scalar, ComparesAndSelects) {
  for (DType type : AllTypes()) {
    Pointwise p(type);
    for (Cmp how : {kEq, kNe, kLt, kLe, kGt, kGe}) p.Out(p.b.Compare(how, p.x, p.y));
    if (IsFloat(type)) {
      for (Cmp how : {kEq, kLt, kGe}) p.Out(p.b.Compare(how, p.x, p.y, true));
    }
    p.Out(p.b.Select(p.b.Compare(kLt, p.x, p.y), p.x, p.z));
    Expect(p.Finish(), DTypeName(type));
  }
}

TEST_P(Scalar, Conversions) {
  const std::vector<DType> types = AllTypes();
  for (DType from : types) {
    for (size_t first = 0; first < types.size(); first += 6) {
      Pointwise p(from);
      for (size_t k = first; k < std::min(types.size(), first + 6); ++k) {
        if (types[k] != from) p.Out(p.b.Convert(types[k], p.x));
      }
      if (!p.stage.stores.empty()) Expect(p.Finish(), DTypeName(from));
    }
  }
}

TEST_P(Scalar, BitcastsAndReducePrecision) {
  const std::pair<DType, DType> pairs[] = {
      {DType::kF32, DType::kS32}, {DType::kU32, DType::kF32},  {DType::kF64, DType::kU64},  {DType::kS64, DType::kF64},
      {DType::kF16, DType::kU16}, {DType::kBF16, DType::kS16}, {DType::kF16, DType::kBF16}, {DType::kS8, DType::kU8}};
  for (auto [from, to] : pairs) {
    Pointwise p(from);
    p.Out(p.b.Bitcast(to, p.x));
    Expect(p.Finish(), DTypeName(from));
  }
  for (DType type : kFloats) {
    Pointwise p(type);
    for (auto [e, m] : {std::pair{5, 10}, {8, 7}, {4, 3}, {5, 2}, {8, 23}, {3, 1}})
      p.Out(p.b.ReducePrecision(p.x, e, m));
    Expect(p.Finish(), DTypeName(type));
  }
}

std::vector<int64_t> Divisors() {
  std::vector<int64_t> divisors = {1 << 20,          (1 << 30) - 1,    1 << 30,  INT32_MAX,
                                   int64_t{1} << 32, int64_t{1} << 40, INT64_MAX};
  for (int64_t d : {1, 2, 3, 5, 6, 7, 10, 12, 16, 25, 64, 100, 125, 127, 641, 1000, 30011, 32767, 65535, 65537})
    divisors.push_back(d);
  divisors.push_back((int64_t{1} << 32) + 1);
  divisors.push_back(86'400'000'000);
  for (size_t i = 0, n = divisors.size(); i < n; ++i) divisors.push_back(-divisors[i]);
  return divisors;
}

// As choices between what division gives and what is one further down.
TEST_P(Scalar, DivisionThatRoundsDown) {
  for (DType type : {DType::kS32, DType::kS16, DType::kS8, DType::kS64}) {
    for (int64_t divisor : Divisors()) {
      const int bits = DTypeBits(type);
      const int64_t most = bits == 64 ? INT64_MAX : (int64_t{1} << (bits - 1)) - 1;
      if (divisor > most || divisor < -most) continue;
      Pointwise p(type, 300);
      KernelBuilder& b = p.b;
      const Val d = b.Const(type, divisor), zero = b.Const(type, 0), one = b.Const(type, 1);
      for (const Val x : {p.x, b.Add(b.Mul(p.y, d), b.And(p.z, one)), b.Sub(b.Mul(p.y, d), one)}) {
        const Val quotient = b.Div(x, d), rest = b.Rem(x, d);
        const Val is_below = b.Compare(kLt, x, zero), has_rest = b.Compare(kNe, rest, zero);
        const Val has_other_sign = b.Compare(kNe, b.Sign(x), b.Const(type, divisor < 0 ? -1 : 1));
        p.Out(b.Select(b.And(has_other_sign, has_rest), b.Sub(quotient, one), quotient));
        p.Out(b.Select(b.And(has_rest, is_below), b.Sub(quotient, one), quotient));
        p.Out(b.Select(b.Compare(kLt, rest, zero), b.Add(rest, d), rest));
        // Like these, but others.
        p.Out(b.Select(is_below, b.Sub(quotient, one), quotient));
        p.Out(b.Select(b.Compare(kGt, rest, zero), b.Add(rest, d), rest));
        p.Out(b.Select(b.Compare(kLt, rest, zero), b.Add(rest, one), rest));
      }
      Expect(p.Finish(), std::string(DTypeName(type)) + " by " + std::to_string(divisor));
    }
  }
}

// Quotients become products with reciprocals: at the edges of the range, and around multiples of the divisor.
TEST_P(Scalar, DivisionByConstants) {
  for (DType type :
       {DType::kS32, DType::kU32, DType::kS16, DType::kU16, DType::kS8, DType::kU8, DType::kS64, DType::kU64}) {
    for (int64_t divisor : Divisors()) {
      const int bits = DTypeBits(type);
      const int64_t most = bits == 64 ? INT64_MAX : (int64_t{1} << (bits - (IsSigned(type) ? 1 : 0))) - 1;
      if (divisor > most || (!IsSigned(type) && divisor < 0) || divisor < -most) continue;
      Pointwise p(type, 300);
      const Val d = p.b.Const(type, divisor);
      const Val near = p.b.Add(p.b.Mul(p.y, d), p.b.And(p.z, p.b.Const(type, int64_t{1})));
      p.Out(p.b.Binary(Op::kDiv, p.x, d));
      p.Out(p.b.Binary(Op::kRem, p.x, d));
      p.Out(p.b.Binary(Op::kDiv, near, d));
      p.Out(p.b.Binary(Op::kRem, p.b.Sub(near, p.b.Const(type, int64_t{1})), d));
      Expect(p.Finish(), std::string(DTypeName(type)) + " by " + std::to_string(divisor));
    }
  }
}

/// Whole numbers of 24 bits whose quotients by `divisor` come closest to the middle between two floats.
std::vector<uint64_t> NearMiddles(float divisor) {
  int exponent;
  const auto d = static_cast<uint64_t>(std::ldexp(std::frexp(divisor, &exponent), 24));
  std::vector<std::pair<uint64_t, uint64_t>> closest;  // How far, and the number.
  for (uint64_t x = 1 << 23; x < 1 << 24; ++x) {
    // Twice the quotient's last place and a half is odd there.
    const uint64_t rest = (x << (x >= d ? 24 : 25)) % (2 * d), off = rest > d ? rest - d : d - rest;
    if (off < 64) closest.emplace_back(off, x);
  }
  std::sort(closest.begin(), closest.end());
  std::vector<uint64_t> numbers;
  for (const auto& [off, x] : closest) numbers.push_back(x);
  return numbers;
}

// What is known not to be near zero is divided by products, where these give each quotient's bits.
TEST_P(Scalar, QuotientsByConstants) {
  // By the sixth and the seventh, products alone are wrong for one mantissa each.
  for (const float divisor :
       {255.0f, 0.22f, 127.5f, -0.23f, 3.0f, 0x1.6cf3e6p+0f, 0x1.b8116cp-1f, 0.25f, 1e6f, 1e-9f, 0x1p60f}) {
    const std::vector<uint64_t> numbers = NearMiddles(std::abs(divisor));
    Pointwise p(DType::kS32, 2000);
    KernelBuilder& b = p.b;
    for (DType type : {DType::kF32, DType::kF64}) {
      const auto number = [&](double x) {
        const auto narrow = std::bit_cast<uint32_t>(static_cast<float>(x));
        return b.ConstBits(type, type == DType::kF32 ? narrow : std::bit_cast<uint64_t>(x));
      };
      const Val d = number(divisor), x = b.Convert(type, p.x);
      const Val quotient = b.Div(x, d);
      p.Out(quotient);
      p.Out(b.Div(b.Sub(quotient, number(0.45)), d));
      p.Out(b.Div(b.Neg(x), d));
      // Too near to zero.
      p.Out(b.Div(b.Mul(x, number(0x1p-100)), d));
      p.Out(b.Div(b.Mul(b.Mul(x, number(0x1p-60)), number(0x1p-60)), d));
      // Where infinity and NaN come in.
      p.Out(b.Div(b.Convert(type, b.Bitcast(DType::kF32, p.x)), d));
      p.Out(b.Div(b.Mul(x, number(0x1p100)), d));
      p.Out(b.Div(b.Mul(b.Mul(x, number(0x1p100)), number(0x1p100)), d));
    }
    testing::RunOptions options;
    options.fill = [&](Buf, int64_t index, uint64_t* bits) {
      const auto at = static_cast<size_t>(index);
      if (at < numbers.size()) *bits = numbers[at];
      return at < numbers.size();
    };
    Expect(p.Finish(), std::to_string(divisor), options);
  }
}

TEST_P(Scalar, MathFunctions) {
  // kSse4 rounds the products of kFma, but for those that an algorithm counts on.
  const testing::RunOptions options{.ulps = GetParam() == isa::IsaLevel::kSse4 ? uint64_t{4} : 0};
  for (MathId id = 0; id < NumMath(); ++id) {
    const Graph& graph = MathGraph(id);
    if (graph.arguments.empty() || graph.arguments.size() > 3) continue;
    Pointwise p(graph.arguments[0]);
    SmallVector<Val, 3> in = {p.x};
    if (graph.arguments.size() > 1) in.push_back(p.y);
    if (graph.arguments.size() > 2) in.push_back(p.z);
    Node node;
    node.op = Op::kMath;
    node.type = graph.nodes[graph.results[0]].type;
    node.attr = id;
    node.in = in;
    p.Out(p.b.Emit(node));
    Expect(p.Finish(), MathName(id), options);
  }
}

// A sine's remainder and quadrant ask the same: what large arguments take, products of 64 bits among it, is behind a
// branch, and behind one per body.
TEST(RareSelects, OfOneConditionShareABranch) {
  Pointwise p(DType::kF32);
  p.Out(*p.b.Math("sin", {p.x}));
  const Result<std::string> text = EmitLlvmText(p.Finish(), {.isa = isa::IsaLevel::kAvx512});
  ASSERT_TRUE(text.ok()) << text.status().ToString();
  std::istringstream lines(*text);
  int bodies = 0, branches = 0;
  bool rare = false;
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line[0] != ' ' && line.find(':') != std::string::npos) {
      rare = line.starts_with("rare");
      branches += rare;
    }
    bodies += line.find("store <16 x float>") != std::string::npos || line.find("masked.store") != std::string::npos;
    EXPECT_TRUE(rare || line.find("mul <16 x i64>") == std::string::npos) << line;
  }
  EXPECT_GT(branches, 0);
  EXPECT_LE(branches, bodies);
}

}  // namespace
}  // namespace tenon::emit_llvm
