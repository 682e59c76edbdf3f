#pragma once

/// What the generator knows of the values of the program that it writes.

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/base/dtype.h"

namespace tenon::fuzz {

using Dims = std::vector<int64_t>;

enum class Kind : uint8_t { kBool, kSigned, kUnsigned, kFloat, kComplex };

/// One element type of StableHLO's text.
struct Type {
  const char* name = "";
  DType dtype = DType::kInvalid;
  Kind kind = Kind::kFloat;
  int bits = 0;           ///< Of one number: half of a complex element.
  int significant = 0;    ///< Floats: bits of the significand, the hidden one among them.
  double largest = 1e38;  ///< Floats: no finite number is larger, as far as programs here get.

  bool is_bool() const { return kind == Kind::kBool; }
  bool is_int() const { return kind == Kind::kSigned || kind == Kind::kUnsigned; }
  bool is_signed() const { return kind == Kind::kSigned; }
  bool is_float() const { return kind == Kind::kFloat; }
  bool is_complex() const { return kind == Kind::kComplex; }
  /// Floats and complex numbers: integers up to here are exact, sums and products that stay below have no rounding.
  double exact_limit() const;
  /// All of 0 ... this are numbers of the type.
  double counts_to() const;
  friend bool operator==(const Type& a, const Type& b) { return a.dtype == b.dtype; }
};

/// All types; the first ones are those that most programs consist of.
const std::vector<Type>& AllTypes();
const Type& TypeOf(DType dtype);
Type PartOf(const Type& complex);
/// The complex type of these parts; requires f32 or f64.
Type ComplexOf(const Type& part);

/// What is known of the numbers in a value. Floats are integers that no operation had to round, as long as `error` is
/// zero: then every correct implementation gives the same bits, in whatever order it sums.
struct Numbers {
  double bound = 0;       ///< No finite element (no part of a complex one) is larger in magnitude.
  double error = 0;       ///< How far an implementation's result may be off; 0: not at all.
  bool zero_sign = true;  ///< The sign of a zero is determined.
  bool nan_bits = true;   ///< Which NaN one is, is determined.
  bool special = false;   ///< NaN, infinities and any finite number may be in it.
  bool frozen = false;    ///< Special and rounded: arithmetic on it could round differently from here on.

  bool exact() const { return error == 0; }
};

struct Value {
  std::string name;
  Type type;
  Dims dims;
  Numbers is;

  size_t rank() const { return dims.size(); }
  bool empty() const { return name.empty(); }
};

int64_t Count(const Dims& dims);
/// "tensor<2x3xf32>".
std::string Text(const Type& type, const Dims& dims);
inline std::string Text(const Value& v) { return Text(v.type, v.dims); }
/// "[1, 2]".
std::string List(const Dims& dims);
/// "array<i64: 1, 2>".
std::string Array(const Dims& dims);
/// "%a, %b" and "tensor<...>, tensor<...>".
std::string Names(const std::vector<Value>& values);
std::string Types(const std::vector<Value>& values);

/// What an op names its `count` results, "%v" or "%v:3", and what others call the i-th of them, "%v" or "%v#1".
std::string ResultsOf(const std::string& name, size_t count);
std::string ResultOf(const std::string& name, size_t count, size_t i);

/// Both together in one value.
Numbers Join(const Numbers& a, const Numbers& b);

}  // namespace tenon::fuzz
