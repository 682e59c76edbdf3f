#pragma once

/// One function per operation of StableHLO, with its name and its meaning; the list is ops.def. Every function gives
/// what the operation gives, with types that follow from the operands. A call that is wrong gives invalid values and
/// its error to the module (module.h). Operands of an operation belong to one function. Deprecated ones are at the end.

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/builder/module.h"

namespace tenon::builder {

//===--- Constants ---===//

Value Constant(Function& f, Literal literal, Location where = Location::current());
/// INVALID_ARGUMENT unless the extents multiply to the length of `data`.
template <Element T>
Value Constant(Function& f, std::span<const T> data, const Dims& dims, Location where = Location::current()) {
  Result<Literal> literal = Literal::Of(data, dims);
  if (literal.ok()) return Constant(f, std::move(*literal), where);
  f.module().Fail(std::move(literal).status().WithContext("constant"));
  return {};
}
template <Element T>
Value Constant(Function& f, const std::vector<T>& data, const Dims& dims, Location where = Location::current()) {
  return Constant(f, std::span<const T>(data), dims, where);
}
/// A scalar of T's element type.
template <Element T>
Value Constant(Function& f, T value, Location where = Location::current()) {
  return Constant(f, std::span<const T>(&value, 1), {}, where);
}
/// `value` rounded to the element type, everywhere.
Value Full(Function& f, const Shape& shape, double value, Location where = Location::current());
/// An array like `x` in type and extents, which must be known.
Value FullLike(Value x, double value, Location where = Location::current());
/// A constant of quantized type from its stored integers, one byte or more each.
Value QuantizedConstant(Function& f, const Type& type, std::span<const std::byte> stored,
                        Location where = Location::current());
/// Counts 0, 1, ... along `dim`.
Value Iota(Function& f, const Shape& shape, int64_t dim, Location where = Location::current());

//===--- Elementwise ---===//

/// How exact a function must be. Tolerances count in mode kTolerance alone.
struct ResultAccuracy {
  enum class Mode { kDefault, kHighest, kTolerance };
  Mode mode = Mode::kDefault;
  double atol = 0, rtol = 0;
  int64_t ulps = 0;
};

#define TENON_BUILDER_UNARY(Function, mnemonic, classes, result) \
  Value Function(Value x, Location where = Location::current());
#define TENON_BUILDER_MATH(Function, mnemonic) \
  Value Function(Value x, const ResultAccuracy& accuracy = {}, Location where = Location::current());
#define TENON_BUILDER_BINARY(Function, mnemonic, classes) \
  Value Function(Value lhs, Value rhs, Location where = Location::current());
#include "tenon/builder/ops.def"

/// min(max(x, low), high); bounds are scalars or have x's extents.
Value Clamp(Value low, Value x, Value high, Location where = Location::current());

enum class Direction { kEq, kNe, kGe, kGt, kLe, kLt };
/// kDefault: what the element type asks for. kTotalOrder tells -0 from +0 and has a place for every NaN.
enum class Order { kDefault, kFloat, kTotalOrder, kSigned, kUnsigned };
Value Compare(Value lhs, Value rhs, Direction direction, Order order = Order::kDefault,
              Location where = Location::current());
/// From real and imaginary part.
Value Complex(Value real, Value imag, Location where = Location::current());
Value Convert(Value x, DType type, Location where = Location::current());
/// The same bits: the last dim is made or used up where widths differ.
Value BitcastConvert(Value x, DType type, Location where = Location::current());
/// Rounds as if stored with so many bits.
Value ReducePrecision(Value x, int exponent_bits, int mantissa_bits, Location where = Location::current());
/// `pred` is a scalar or has the branches' extents.
Value Select(Value pred, Value on_true, Value on_false, Location where = Location::current());
Value UniformQuantize(Value x, const Quantization& to, Location where = Location::current());
Value UniformDequantize(Value x, Location where = Location::current());

//===--- Movement ---===//

/// Operand dim i becomes result dim broadcast_dims[i]; extents of 1 are repeated.
Value BroadcastInDim(Value x, const Dims& dims, const Dims& broadcast_dims, Location where = Location::current());
/// The same where operand dims are the last of the result, as in NumPy.
Value BroadcastTo(Value x, const Dims& dims, Location where = Location::current());
Value Concatenate(const Values& inputs, int64_t dim, Location where = Location::current());
/// `starts`: one scalar per dim, clamped so that the slice is inside.
Value DynamicSlice(Value x, const Values& starts, const Dims& sizes, Location where = Location::current());
Value DynamicUpdateSlice(Value x, Value update, const Values& starts, Location where = Location::current());
Value Gather(Value x, Value start_indices, const GatherDims& dims, const Dims& slice_sizes,
             bool indices_are_sorted = false, Location where = Location::current());
/// Negative numbers crop. `interior` empty: none.
Value Pad(Value x, Value value, const Dims& low, const Dims& high, const Dims& interior = {},
          Location where = Location::current());
Value Reshape(Value x, const Dims& dims, Location where = Location::current());
Value Reverse(Value x, const Dims& dims, Location where = Location::current());
/// From `starts` to below `limits` in steps of `strides` (empty: 1).
Value Slice(Value x, const Dims& starts, const Dims& limits, const Dims& strides = {},
            Location where = Location::current());
/// Result dim i is operand dim permutation[i].
Value Transpose(Value x, const Dims& permutation, Location where = Location::current());

//===--- Products, windows, decompositions ---===//

enum class Precision { kDefault, kHigh, kHighest };
/// A named way to compute a product; names of types as in StableHLO: "bf16", "tf32".
struct DotAlgorithm {
  std::string lhs_precision = "f32", rhs_precision = "f32", accumulation = "f32";
  int lhs_components = 1, rhs_components = 1, primitive_operations = 1;
  bool allow_imprecise_accumulation = false;
};
struct DotOptions {
  std::vector<Precision> precision = {};  ///< Empty or one per operand.
  std::optional<DotAlgorithm> algorithm = {};
  std::optional<DType> result = {};  ///< Default: the operands' type.
};
/// Result dims: batching, then what is left of lhs, then of rhs.
Value DotGeneral(Value lhs, Value rhs, const DotDims& dims, const DotOptions& options = {},
                 Location where = Location::current());
/// lhs @ rhs: the last dim of lhs with the last but one of rhs (or its only one); dims before those are batches.
Value MatMul(Value lhs, Value rhs, Location where = Location::current());

struct ConvOptions {
  Dims strides = {};     ///< Per spatial dim; empty: 1.
  Padding padding = {};  ///< Per spatial dim; empty: 0.
  Dims lhs_dilation = {}, rhs_dilation = {};
  std::vector<bool> reversal = {};
  int64_t feature_groups = 1, batch_groups = 1;
  std::vector<Precision> precision = {};
  std::optional<DType> result = {};
};
Value Convolution(Value input, Value kernel, const ConvDims& dims, const ConvOptions& options = {},
                  Location where = Location::current());

enum class FftType { kFft, kIfft, kRfft, kIrfft };
/// Over the last `lengths.size()` dims.
Value Fft(Value x, FftType type, const Dims& lengths, Location where = Location::current());
Value Cholesky(Value a, bool lower = true, Location where = Location::current());

enum class TransposeA { kNo, kTranspose, kAdjoint };
struct TriangularSolveOptions {
  bool left_side = true, lower = true, unit_diagonal = false;
  TransposeA transpose_a = TransposeA::kNo;
};
/// x with op(a) x = b, or x op(a) = b.
Value TriangularSolve(Value a, Value b, const TriangularSolveOptions& options = {},
                      Location where = Location::current());

struct BatchNorm {
  float epsilon = 1e-5f;
  int64_t feature_dim = 1;
};
Value BatchNormInference(Value x, Value scale, Value offset, Value mean, Value variance, const BatchNorm& norm,
                         Location where = Location::current());
/// Output, mean, variance.
Values BatchNormTraining(Value x, Value scale, Value offset, const BatchNorm& norm,
                         Location where = Location::current());
/// Gradients of x, scale, offset.
Values BatchNormGrad(Value x, Value scale, Value mean, Value variance, Value grad_output, const BatchNorm& norm,
                     Location where = Location::current());

//===--- Regions ---===//

/// Branches take nothing and give equal types; they use values from outside.
Values If(Value pred, const Body& on_true, const Body& on_false, Location where = Location::current());
/// An index outside of the list takes the last branch.
Values Case(Value index, const std::vector<Body>& branches, Location where = Location::current());
/// Both take the loop's values. `condition` gives a pred scalar, `body` the next values.
Values While(const Values& init, const Body& condition, const Body& body, Location where = Location::current());
/// `body` takes all accumulators, then all elements, as scalars; it gives the accumulators.
Values Reduce(const Values& inputs, const Values& inits, const Dims& dims, const Body& body,
              Location where = Location::current());
Value Reduce(Value input, Value init, const Dims& dims, const Body& body, Location where = Location::current());
/// Reductions with their usual initial value. kMin and kMax start from infinities or the type's ends. INVALID_ARGUMENT
/// for sums of f8E8M0FNU, which has no zero.
enum class Reduction { kSum, kProduct, kMin, kMax, kAnd, kOr };
Value Reduce(Value input, Reduction reduction, const Dims& dims, Location where = Location::current());

struct WindowOptions {
  Dims size = {};
  Dims strides = {};  ///< Empty: 1.
  Dims base_dilations = {}, window_dilations = {};
  Padding padding = {};  ///< Empty: 0.
};
Values ReduceWindow(const Values& inputs, const Values& inits, const WindowOptions& window, const Body& body,
                    Location where = Location::current());
/// `select` says whether the first of two elements stays; `scatter` adds a source to what lies there.
Value SelectAndScatter(Value x, Value source, Value init, const WindowOptions& window, const Body& select,
                       const Body& scatter, Location where = Location::current());

struct ScatterOptions {
  bool indices_are_sorted = false, unique_indices = false;
};
/// `body` takes all current elements, then all updates, as scalars.
Values Scatter(const Values& inputs, Value indices, const Values& updates, const ScatterDims& dims, const Body& body,
               const ScatterOptions& options = {}, Location where = Location::current());
/// `comparator` takes two elements of the first input, two of the second ...: whether the first ones come first.
Values Sort(const Values& inputs, int64_t dim, bool stable, const Body& comparator,
            Location where = Location::current());
/// Applies `body`, which takes scalars, to the elements.
Value Map(const Values& inputs, const Body& body, Location where = Location::current());

//===--- Random numbers ---===//

enum class RngAlgorithm { kDefault, kThreeFry, kPhilox };
/// The next state and the bits.
Values RngBitGenerator(Value state, RngAlgorithm algorithm, const Shape& shape, Location where = Location::current());
enum class RngDistribution { kUniform, kNormal };
/// Of [a, b), or with mean a and deviation b.
Value Rng(Value a, Value b, RngDistribution distribution, const Dims& dims, Location where = Location::current());

//===--- Extents known at run time ---===//

// `result` is what is known of the result; its unknown extents are kDynamic.
Value DynamicBroadcastInDim(Value x, Value output_dims, const Dims& broadcast_dims, const Type& result,
                            Location where = Location::current());
Value DynamicConv(Value input, Value kernel, Value padding, const ConvDims& dims, const ConvOptions& options,
                  const Type& result, Location where = Location::current());
Value DynamicGather(Value x, Value start_indices, Value slice_sizes, const GatherDims& dims, const Type& result,
                    bool indices_are_sorted = false, Location where = Location::current());
Value DynamicIota(Value output_dims, int64_t dim, const Type& result, Location where = Location::current());
Value DynamicPad(Value x, Value value, Value low, Value high, Value interior, const Type& result,
                 Location where = Location::current());
Value DynamicReshape(Value x, Value output_dims, const Type& result, Location where = Location::current());
Value GetDimensionSize(Value x, int64_t dim, Location where = Location::current());
Value RealDynamicSlice(Value x, Value starts, Value limits, Value strides, const Type& result,
                       Location where = Location::current());
/// The extent becomes dynamic with the old one as its bound.
Value SetDimensionSize(Value x, Value size, int64_t dim, Location where = Location::current());

//===--- Several devices ---===//

/// Who works together: groups of equal length, shorter ones filled with -1. `channel` 0: none.
struct Groups {
  std::vector<std::vector<int64_t>> ids = {};
  int64_t channel = 0;
  bool use_global_device_ids = false;
};
Value AllGather(Value x, int64_t dim, int64_t group_size, const Groups& groups, Location where = Location::current());
Values AllReduce(const Values& x, const Groups& groups, const Body& body, Location where = Location::current());
Value AllToAll(Value x, int64_t split_dim, int64_t concat_dim, int64_t split_count, const Groups& groups,
               Location where = Location::current());
Value CollectiveBroadcast(Value x, const Groups& groups, Location where = Location::current());
Value CollectivePermute(Value x, const std::vector<std::pair<int64_t, int64_t>>& source_target_pairs,
                        int64_t channel = 0, Location where = Location::current());
/// The first of each group gets the reduction.
Values CollectiveReduce(const Values& x, const Groups& groups, const Body& body, Location where = Location::current());
Value ReduceScatter(Value x, int64_t dim, int64_t group_size, const Groups& groups, const Body& body,
                    Location where = Location::current());
Value PartitionId(Function& f, Location where = Location::current());
Value ReplicaId(Function& f, Location where = Location::current());
/// Starts what `body` makes of the operands: one collective. Await gives its results.
Value AsyncStart(const Values& operands, const Body& body, Location where = Location::current());
Values AsyncDone(Value future, Location where = Location::current());
/// Shardy's: the partitioner must give the value this sharding.
Value ShardingConstraint(Value x, const Sharding& sharding, Location where = Location::current());

//===--- Tokens, channels, calls, tuples ---===//

Value CreateToken(Function& f, Location where = Location::current());
Value AfterAll(Function& f, const Values& tokens, Location where = Location::current());
struct Channel {
  int64_t handle = 0;
  int64_t type = 1;  ///< 1: device to device, 2: device to host, 3: host to device
  bool is_host_transfer = false;
  std::vector<std::pair<int64_t, int64_t>> source_target_pairs = {};
};
Value Send(const Values& inputs, Value token, const Channel& channel, Location where = Location::current());
/// The values, then the token.
Values Recv(Value token, const std::vector<Type>& types, const Channel& channel, Location where = Location::current());
Values Infeed(Value token, const std::vector<Type>& types, std::string_view config = "",
              Location where = Location::current());
Value Outfeed(const Values& inputs, Value token, std::string_view config = "", Location where = Location::current());

/// `callee` must have its Return. Without arguments the caller must be given.
Values Call(Function& callee, const Values& arguments, Location where = Location::current());
Values Call(Function& caller, Function& callee, const Values& arguments, Location where = Location::current());
/// A named operation with `decomposition` as what it means. Attributes as in StableHLO's text.
Values Composite(std::string_view name, const Values& inputs, Function& decomposition,
                 const std::vector<std::pair<std::string, std::string>>& attributes = {}, int32_t version = 0,
                 Location where = Location::current());

struct CustomCallOptions {
  bool has_side_effect = false;
  /// 4: a typed FFI handler, whose backend config is the text of a dictionary ("{k = 4 : i64}"); before that any bytes.
  int32_t api_version = 4;
  std::string backend_config = {};
  std::vector<Function*> called = {};
  /// Minor to major, of all or of none.
  std::vector<Dims> operand_layouts = {}, result_layouts = {};
  /// Which result (-1 if it is the only one) is which operand.
  std::vector<std::pair<int64_t, int64_t>> output_operand_aliases = {};
};
Values CustomCall(Function& f, std::string_view target, const Values& operands, const std::vector<Type>& results,
                  const CustomCallOptions& options = {}, Location where = Location::current());
Values OptimizationBarrier(const Values& x, Location where = Location::current());
Value Tuple(Function& f, const Values& elements, Location where = Location::current());
Value GetTupleElement(Value tuple, int64_t index, Location where = Location::current());

//===--- Deprecated in StableHLO ---===//

/// New dims in front.
Value Broadcast(Value x, const Dims& sizes, Location where = Location::current());
Value CrossReplicaSum(Value x, const std::vector<std::vector<int64_t>>& groups, Location where = Location::current());
/// The last dim of lhs with the first of rhs, both of rank 1 or 2.
Value Dot(Value lhs, Value rhs, const DotOptions& options = {}, Location where = Location::current());
/// "ab,bc->ac"
Value Einsum(Value lhs, Value rhs, std::string_view config, Location where = Location::current());
Value UnaryEinsum(Value x, std::string_view config, Location where = Location::current());
Value TorchIndexSelect(Value x, Value index, int64_t dim, int64_t batch_dims = 0, Location where = Location::current());

//===--- Operators ---===//

/// A value or a number, with the place in the caller's source.
struct Operand {
  Operand(Value v, Location at = Location::current()) : value(v), where(at) {}                     // NOLINT: implicit
  Operand(double v, Location at = Location::current()) : is_number(true), number(v), where(at) {}  // NOLINT: implicit
  Value value;
  bool is_number = false;
  double number = 0;
  Location where;
};
/// Of equal types; a scalar is repeated where the other operand is an array, and a number takes the other's type.
Value operator+(Operand a, Operand b);
Value operator-(Operand a, Operand b);
Value operator*(Operand a, Operand b);
Value operator/(Operand a, Operand b);
inline Value operator-(Operand a) { return Negate(a.value, a.where); }

}  // namespace tenon::builder
