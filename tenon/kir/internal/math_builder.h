#pragma once

/// What the builders of math functions share: a GraphBuilder for one float type, with that type's constants and
/// recurring steps. f32 functions count on flushed denormals: subnormal arguments act as zeros.

#include <bit>
#include <initializer_list>
#include <limits>

#include "tenon/kir/builder.h"

namespace tenon::kir::internal {

class MathBuilder : public GraphBuilder {
 public:
  explicit MathBuilder(DType type, size_t arguments = 1)
      : GraphBuilder(std::vector<DType>(arguments, type)), type_(type), is_f32_(type == DType::kF32) {}

  DType float_type() const { return type_; }
  bool is_f32() const { return is_f32_; }
  DType int_type() const { return is_f32_ ? DType::kS32 : DType::kS64; }
  int mantissa_bits() const { return is_f32_ ? 23 : 52; }
  int64_t bias() const { return is_f32_ ? 127 : 1023; }
  int64_t sign_bit() const { return is_f32_ ? int64_t{1} << 31 : std::numeric_limits<int64_t>::min(); }

  Val C(double value) { return Const(type_, value); }
  Val I(int64_t value) { return Const(int_type(), value); }
  Val Inf() { return C(std::numeric_limits<double>::infinity()); }
  Val NaN() { return C(std::numeric_limits<double>::quiet_NaN()); }
  Val Bits(Val x) { return Bitcast(int_type(), x); }
  Val FromBits(Val i) { return Bitcast(type_, i); }

  /// c[0] + x (c[1] + x (c[2] + ...)), one fma per step.
  Val Horner(Val x, std::initializer_list<double> c) { return Horner(x, c.begin(), c.size()); }
  Val Horner(Val x, const double* c, size_t n) {
    Val p = C(c[n - 1]);
    for (size_t i = n - 1; i-- > 0;) p = Fma(p, x, C(c[i]));
    return p;
  }

  /// |magnitude| with the sign of `sign`; magnitude must not be negative.
  Val WithSign(Val magnitude, Val sign) { return FromBits(Or(Bits(magnitude), And(Bits(sign), I(sign_bit())))); }
  Val Less(Val a, double b) { return Compare(kLt, a, C(b)); }
  Val Greater(Val a, double b) { return Compare(kGt, a, C(b)); }

  /// Adding it rounds a small number to an integer n, to nearest even, in the low bits; with `plus` the low bits hold n
  /// + plus, so that shifted to the exponent they are 2^(n + plus - bias).
  double Magic(int64_t plus = 0) const { return (is_f32_ ? 0x1.8p23 : 0x1.8p52) + static_cast<double>(plus); }
  /// 2^n where `t` = n + Magic(bias).
  Val PowerOfTwo(Val t) { return FromBits(Shl(Bits(t), I(mantissa_bits()))); }

 private:
  DType type_;
  bool is_f32_;
};

}  // namespace tenon::kir::internal
