#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tenon/base/dtype.h"
#include "tenon/conformance/env.h"
#include "tenon/conformance/test.h"

namespace tenon::conformance {

/// An array by its values. Complex elements are two numbers. Integers stay below 2^53.
struct Value {
  DType type;
  Dims dims;
  std::vector<double> numbers;
};

/// Bytes of the array as hosts hold it. Floats are rounded to nearest, ties to even.
Bytes Encode(const Value& value);
std::vector<double> Decode(DType type, const Bytes& bytes);

/// "tensor<2x3xf32>".
std::string TensorType(DType type, const Dims& dims);
/// Distance between 1 and the next number of a float type.
double Epsilon(DType type);

/// How far a result may lie from the exact value, in units of Epsilon times its magnitude. Basic operations are
/// correctly rounded: half a unit. Functions such as sine have no accuracy in the specification; 16 units is what this
/// suite asks of f32 and f64, and one unit of narrower types, which are computed in f32.
enum class Bound { kExact, kRounded, kFunction };

struct OpCase {
  std::string name;  // op.type
  std::vector<Value> arguments;
  std::vector<Value> results;
  /// What stands in main; arguments are %arg0 and so on. Ends with a return of the results.
  std::string body;
  Bound bound = Bound::kExact;
  /// Absolute slack on top, for sums: a count of roundings times Epsilon times the magnitude of the terms.
  double slack = 0;
};

/// Adds the case as a test "op.<name>".
void AddOp(Suite& suite, OpCase op);
/// A case whose body is one op in generic form: `"stablehlo.op"(%arg0, ...) <attributes> : (types) -> types`.
OpCase OneOp(std::string name, const std::string& op, std::vector<Value> arguments, std::vector<Value> results,
             const std::string& attributes = "", Bound bound = Bound::kExact);

// The families.
void AddElementwiseOps(Suite& suite);
void AddShapeOps(Suite& suite);
void AddStructuredOps(Suite& suite);

}  // namespace tenon::conformance
