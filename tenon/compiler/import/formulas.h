#pragma once

// What formulas of special functions are written in: operations on arrays of one float type, before an op.

#include <limits>
#include <span>

#include "tenon/compiler/import/writer.h"

namespace tenon::compiler {

class Formulas {
 public:
  using Value = mlir::Value;

  /// In the shape of `op`'s first operand and in f64 where that is of f64, or of complex numbers; else in f32.
  explicit Formulas(mlir::Operation* op) : w_(op) {
    mlir::RankedTensorType first = TensorOf(op->getOperand(0));
    is_f32_ = !first.getElementType().isF64() && !mlir::isa<mlir::ComplexType>(first.getElementType());
    type_ = first.clone(is_f32_ ? w_.f32() : w_.f64());
  }

  OpWriter& w() { return w_; }
  mlir::RankedTensorType type() const { return type_; }
  bool is_f32() const { return is_f32_; }

  Value C(double v) { return w_.Floats(type_, v); }
  Value Inf() { return C(std::numeric_limits<double>::infinity()); }
  Value NaN() { return C(std::numeric_limits<double>::quiet_NaN()); }
  Value Add(Value a, Value b) { return w_.Binary("stablehlo.add", a, b); }
  Value Sub(Value a, Value b) { return w_.Binary("stablehlo.subtract", a, b); }
  Value Mul(Value a, Value b) { return w_.Binary("stablehlo.multiply", a, b); }
  Value Div(Value a, Value b) { return w_.Binary("stablehlo.divide", a, b); }
  Value Min(Value a, Value b) { return w_.Binary("stablehlo.minimum", a, b); }
  Value Max(Value a, Value b) { return w_.Binary("stablehlo.maximum", a, b); }
  Value Atan2(Value y, Value x) { return w_.Binary("stablehlo.atan2", y, x); }
  Value Neg(Value a) { return w_.Unary("stablehlo.negate", a); }
  Value Abs(Value a) { return w_.Unary("stablehlo.abs", a); }
  Value Sign(Value a) { return w_.Unary("stablehlo.sign", a); }
  Value Sqrt(Value a) { return w_.Unary("stablehlo.sqrt", a); }
  Value Exp(Value a) { return w_.Unary("stablehlo.exponential", a); }
  Value Log(Value a) { return w_.Unary("stablehlo.log", a); }
  Value Log1p(Value a) { return w_.Unary("stablehlo.log_plus_one", a); }
  Value Floor(Value a) { return w_.Unary("stablehlo.floor", a); }
  Value Sin(Value a) { return w_.Unary("stablehlo.sine", a); }
  Value Cos(Value a) { return w_.Unary("stablehlo.cosine", a); }
  Value Less(Value a, Value b) { return w_.Compare(a, b, "LT"); }
  Value Greater(Value a, Value b) { return w_.Compare(a, b, "GT"); }
  Value Equal(Value a, Value b) { return w_.Compare(a, b, "EQ"); }
  Value And(Value a, Value b) { return w_.Binary("stablehlo.and", a, b); }
  Value Or(Value a, Value b) { return w_.Binary("stablehlo.or", a, b); }
  Value Not(Value a) { return w_.Unary("stablehlo.not", a); }
  Value Select(Value p, Value a, Value b) { return w_.Op("stablehlo.select", {p, a, b}, a.getType()); }
  Value Horner(Value x, std::span<const double> c) {
    Value sum = C(c.back());
    for (size_t i = c.size() - 1; i-- > 0;) sum = Add(Mul(sum, x), C(c[i]));
    return sum;
  }

 private:
  OpWriter w_;
  bool is_f32_ = true;
  mlir::RankedTensorType type_;
};

}  // namespace tenon::compiler
