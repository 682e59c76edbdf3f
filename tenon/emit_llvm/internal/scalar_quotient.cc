// Quotients of floats by known numbers, without the slow instruction.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "tenon/emit_llvm/internal/scalar_lowering.h"

namespace tenon::emit_llvm {

using llvm::Value;

namespace {

/// 1 / divisor in two parts of one sign, for x * high + x * low with one rounding of the sum. Since the parts have one
/// sign, zeros keep theirs, and infinities stay.
template <class T>
struct Reciprocal {
  T high, low;

  explicit Reciprocal(T divisor) : high(1 / divisor), low(0) {
    const auto rest = [&] { return std::fma(-high, divisor, T{1}); };  // Exact.
    if (rest() < 0) high = std::nextafter(high, T{0});
    low = rest() / divisor;
  }
  T Times(T x) const { return std::fma(x, high, x * low); }
};

template <class T>
using MantissaOf = std::conditional_t<sizeof(T) == sizeof(float), uint64_t, unsigned __int128>;

/// y with odd * y == 1, modulo the word.
template <class Word>
Word InverseOf(Word odd) {
  Word y = odd;  // Right in three bits, and in twice as many after each step.
  for (size_t bits = 3; bits < 8 * sizeof(Word); bits *= 2) y *= 2 - odd * y;
  return y;
}

/// f(x) for mantissas x whose quotients by `divisor`, a mantissa too, come so close to the middle between two
/// neighbours that x * high + x * low may be on its other side; false when f is. With p digits, the sum is off by less
/// than 2^(2 - 2p) of the quotient. For a middle m, a whole number of p + 1 digits, x * 2^s = m * divisor + off with
/// s = p or p + 1 and off != 0, so only middles with |off| <= 8 matter: few, since m is -off / divisor modulo 2^s.
template <class T, class F>
bool ForMantissasNearMiddles(MantissaOf<T> divisor, const F& f) {
  using Word = MantissaOf<T>;
  constexpr int kDigits = std::numeric_limits<T>::digits;
  constexpr int kMostOff = 8;  // structural: 2^(2p + 1) of m * divisor, times 2^(2 - 2p)
  const Word one = 1;
  int zeros = 0;
  while ((divisor >> zeros & 1) == 0) ++zeros;
  const Word inverse = InverseOf<Word>(divisor >> zeros);
  for (int s = kDigits; s <= kDigits + 1; ++s) {
    for (int off = -kMostOff; off <= kMostOff; ++off) {
      const Word wrapped = static_cast<Word>(off);
      if (off == 0 || (off & ((1 << std::min(zeros, kMostOff)) - 1)) != 0) continue;
      const Word step = one << (s - zeros);
      const Word part = off > 0 ? wrapped >> zeros : -(-wrapped >> zeros);
      for (Word middle = (-part * inverse) & (step - 1); middle < one << (kDigits + 1); middle += step) {
        if (middle < one << kDigits || (middle & 1) == 0) continue;
        const Word x = (middle * divisor + wrapped) >> s;
        if (x < one << (kDigits - 1) || x >= one << kDigits) continue;
        if (!f(x)) return false;
      }
    }
  }
  return true;
}

/// The parts where they give every quotient of normal numbers that stays far from subnormal ones.
template <class T>
std::optional<Reciprocal<T>> ExactReciprocal(T divisor) {
  constexpr int kDigits = std::numeric_limits<T>::digits;
  const Reciprocal<T> parts(divisor);
  int exponent;
  const auto mantissa = static_cast<MantissaOf<T>>(std::ldexp(std::frexp(std::abs(divisor), &exponent), kDigits));
  const auto is_exact = [&](MantissaOf<T> x) { return parts.Times(static_cast<T>(x)) == static_cast<T>(x) / divisor; };
  if (!ForMantissasNearMiddles<T>(mantissa, is_exact)) return std::nullopt;
  return parts;
}

}  // namespace

Value* ScalarLowering::DivideByProducts(Value* x, double divisor, int least) {
  llvm::Type* const type = x->getType();
  const bool narrow = type->getScalarType()->isFloatTy();
  if (isa_ < isa::IsaLevel::kAvx2 || !(narrow || type->getScalarType()->isDoubleTy())) return nullptr;
  // Far from where the parts themselves would be subnormal.
  constexpr int kMostExponent = 40;  // structural: their exponents are below f32's
  if (!std::isfinite(divisor) || divisor == 0 || std::abs(std::ilogb(divisor)) > kMostExponent) return nullptr;
  const auto divide = [&]<class T>(T by) -> Value* {
    using Limits = std::numeric_limits<T>;
    // The smaller product is below the quotient by all digits, and has as many of its own.
    if (least - std::ilogb(by) - 1 < Limits::min_exponent + 2 * Limits::digits) return nullptr;
    const std::optional<Reciprocal<T>> parts = ExactReciprocal(by);
    if (!parts) return nullptr;
    const auto constant = [&](T value) { return llvm::ConstantFP::get(type, static_cast<double>(value)); };
    if (parts->low == 0) return b_.CreateFMul(x, constant(parts->high));
    return b_.CreateIntrinsic(llvm::Intrinsic::fma, {type},
                              {x, constant(parts->high), b_.CreateFMul(x, constant(parts->low))});
  };
  return narrow ? divide(static_cast<float>(divisor)) : divide(divisor);
}

}  // namespace tenon::emit_llvm
