#include "tenon/conformance/against/case.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "tenon/base/element.h"
#include "tenon/builder/ops.h"

namespace tenon::conformance {
namespace {

using builder::Value;
using builder::Values;

// How much larger than a rounding the error of a math function may be.
constexpr double kMathRoundings = 64;
// Values are kept below this, so that they fit the narrow types and functions stay where they are well-conditioned.
constexpr double kLargest = 512;
constexpr double kMostError = 1.0 / 64;   // Of a value's bound.
constexpr int64_t kMostElements = 40000;  // An array's, so that a case takes milliseconds.

// Bits of a float type's significand.
int SignificandBits(DType type) {
  switch (type) {
    case DType::kF64:
      return 53;
    case DType::kF32:
      return 24;
    case DType::kF16:
      return 11;
    default:
      return 8;
  }
}

template <class T>
void Append(std::vector<char>& bytes, T value) {
  const auto* from = reinterpret_cast<const char*>(&value);
  bytes.insert(bytes.end(), from, from + sizeof(T));
}

void AppendNumber(std::vector<char>& bytes, DType type, double value) {
  switch (type) {
    case DType::kF64:
      return Append(bytes, value);
    case DType::kF32:
      return Append(bytes, static_cast<float>(value));
    case DType::kF16:
      return Append(bytes, F16(value));
    case DType::kBF16:
      return Append(bytes, BF16(value));
    case DType::kS32:
      return Append(bytes, static_cast<int32_t>(value));
    case DType::kS64:
      return Append(bytes, static_cast<int64_t>(value));
    default:
      return Append(bytes, static_cast<uint8_t>(static_cast<int64_t>(value)));
  }
}

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed), main_(module_.AddFunction("main")) {}

  Result<Case> Run() {
    type_ = Pick<DType>({DType::kF32, DType::kF32, DType::kF32, DType::kF64, DType::kBF16, DType::kF16, DType::kS32,
                         DType::kS64, DType::kU8});
    Push(Parameter(type_, Extents()));
    const int64_t steps = Int(2, 9);
    for (int64_t made = 0, tried = 0; made < steps && tried < 60; ++tried) made += Step() ? 1 : 0;
    // The last value, and another one that lives beside it.
    Return({pool_.back(), pool_[static_cast<size_t>(Int(0, static_cast<int64_t>(pool_.size()) - 1))]});
    TENON_ASSIGN_OR_RETURN(case_.program, module_.ToText());
    return std::move(case_);
  }

 private:
  // A value, with a bound of its magnitude, of the error that a right answer may have, and, where that is 0, with the
  // power of two of which it is a multiple.
  struct Item {
    Value v;
    double magnitude = 0;
    double error = 0;
    int scale = 0;
    bool exact() const { return error == 0; }
  };

  // --- Random choices.

  int64_t Int(int64_t low, int64_t high) {  // In [low, high].
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  bool Chance(int percent) { return Int(1, 100) <= percent; }
  template <class T>
  T Pick(std::vector<T> from) {
    return from[static_cast<size_t>(Int(0, static_cast<int64_t>(from.size()) - 1))];
  }
  // Around the widths of vectors and tiles, and what is not near them.
  int64_t Extent() {
    static const std::vector<int64_t> kExtents = {1,  2,  3,  4,  5,  6,  7,  8,  9,  12,  15,  16,  17,  24,
                                                  31, 32, 33, 48, 63, 64, 65, 96, 97, 100, 127, 128, 129, 200};
    return Chance(2) ? 0 : Chance(8) ? Int(250, 1100) : Pick(kExtents);
  }
  Dims Extents() { return Extents(Int(0, 4)); }
  Dims Extents(int64_t rank) {
    Dims dims;
    int64_t elements = 1;
    for (int64_t i = 0; i < rank; ++i) {
      int64_t extent = Extent();
      if (elements * extent > kMostElements) extent = 1;
      elements *= std::max<int64_t>(extent, 1);
      dims.push_back(extent);
    }
    return dims;
  }
  int64_t AnyDim(const Item& x) { return Int(0, x.v.rank() - 1); }
  static int64_t At(const Dims& dims, int64_t d) { return dims[static_cast<size_t>(d)]; }

  // --- Values.

  double Rounding(DType type) const { return IsFloat(type) ? std::ldexp(1.0, -SignificandBits(type)) : 0; }

  Item Parameter(DType type, const Dims& dims) {
    // Multiples of 1/4 below 2: few bits, so that much can be done with them exactly.
    const bool fraction = IsFloat(type);
    const int64_t range = fraction ? 7 : type == DType::kU8 ? 255 : Chance(30) ? 1000000 : 9;
    Case::Argument argument{{type, dims}, {}};
    for (int64_t i = 0; i < NumElements(dims); ++i) {
      const int64_t n = Int(type == DType::kU8 ? 0 : -range, range);
      AppendNumber(argument.bytes, type, fraction ? static_cast<double>(n) / 4 : static_cast<double>(n));
    }
    case_.arguments.push_back(std::move(argument));
    return {main_.Parameter({type, dims}), fraction ? 2.0 : static_cast<double>(range), 0, fraction ? 2 : 0};
  }
  // Indices into `extent`, some outside.
  Value Indices(const Dims& dims, int64_t extent) {
    Case::Argument argument{{DType::kS32, dims}, {}};
    for (int64_t i = 0; i < NumElements(dims); ++i)
      Append(argument.bytes,
             static_cast<int32_t>(Chance(90) ? Int(0, std::max<int64_t>(extent - 1, 0)) : Int(-2, extent + 2)));
    case_.arguments.push_back(std::move(argument));
    return main_.Parameter({DType::kS32, dims});
  }

  // What an operation of `roundings` roundings, at values up to `magnitude`, makes of operands' errors.
  Item Made(Value v, double magnitude, double error, int scale, double roundings = 1) const {
    // Integers wrap: unsigned ones may be anything.
    if (!IsFloat(v.dtype())) return {v, IsUnsigned(v.dtype()) ? std::max(magnitude, 255.0) : magnitude, 0, 0};
    const bool fits = std::ldexp(magnitude, scale) <= std::ldexp(1.0, SignificandBits(v.dtype()));
    if (error == 0 && fits) return {v, magnitude, 0, scale};
    return {v, magnitude, error + roundings * magnitude * Rounding(v.dtype()), scale};
  }
  Item Moved(Value v, const Item& from) const { return {v, from.magnitude, from.error, from.scale}; }
  // Scaled down by a power of two, where it is large.
  Item Tame(Item x) {
    if (!IsFloat(x.v.dtype()) || x.magnitude <= kLargest) return x;
    const int by = static_cast<int>(std::ceil(std::log2(x.magnitude / kLargest)));
    const Value small = builder::Multiply(x.v, builder::FullLike(x.v, std::ldexp(1.0, -by)));
    return {small, std::ldexp(x.magnitude, -by), std::ldexp(x.error, -by), x.scale + by};
  }
  bool Push(Item x) {
    if (NumElements(x.v.dims()) > kMostElements) return false;
    pool_.push_back(Tame(x));
    return true;
  }
  bool Push(const char* op, Item x) {
    // What may be off by much says little.
    if (!x.v.valid() || x.error > kMostError * x.magnitude || !Push(x)) return false;
    case_.ops += (case_.ops.empty() ? "" : " ") + std::string(op);
    return true;
  }
  const Item& Last() const { return pool_.back(); }
  // Another value of x's shape: one that is there, or a new argument.
  Item Like(const Item& x) {
    std::vector<Item> found;
    for (const Item& i : pool_) {
      if (i.v.type() == x.v.type()) found.push_back(i);
    }
    return Chance(60) ? Pick(found) : Parameter(x.v.dtype(), x.v.dims());
  }

  // --- Operations. Each takes the last value, and says whether it made a new one.

  bool Step() {
    const Item x = Last();
    switch (Int(0, 19)) {
      case 0:
      case 1:
        return Binary(x);
      case 2:
        return IsFloat(x.v.dtype()) ? Unary(x) : Bits(x);
      case 3:
      case 4:
        return IsFloat(x.v.dtype()) ? Smooth(x) : Bits(x);
      case 5:
        return Choose(x);
      case 6:
      case 7:
        return Move(x);
      case 8:
        return Resize(x);
      case 9:
      case 10:
        return Reduction(x);
      case 11:
        return Product(x);
      case 12:
        return Convolved(x);
      case 13:
        return Sorted(x);
      case 14:
        return Window(x);
      case 15:
        return Taken(x);
      case 16:
        return Scattered(x);
      case 17:
        return Loop(x);
      case 18:
        return Branch(x);
      default:
        return Converted(x);
    }
  }

  bool Binary(const Item& x) {
    const Item y = Like(x);
    const double sum = x.magnitude + y.magnitude;
    const int scale = std::max(x.scale, y.scale);
    switch (Int(0, 4)) {
      case 0:
        return Push("add", Made(builder::Add(x.v, y.v), sum, x.error + y.error, scale));
      case 1:
        return Push("subtract", Made(builder::Subtract(x.v, y.v), sum, x.error + y.error, scale));
      case 2: {
        const double error = x.error * y.magnitude + y.error * x.magnitude + x.error * y.error;
        return Push("multiply", Made(builder::Multiply(x.v, y.v), x.magnitude * y.magnitude, error, x.scale + y.scale));
      }
      case 3:
        return Push("maximum", Made(builder::Maximum(x.v, y.v), std::max(x.magnitude, y.magnitude),
                                    std::max(x.error, y.error), scale, 0));
      default:
        return Push("minimum", Made(builder::Minimum(x.v, y.v), std::max(x.magnitude, y.magnitude),
                                    std::max(x.error, y.error), scale, 0));
    }
  }

  bool Unary(const Item& x) {
    switch (Int(0, x.exact() ? 4 : 1)) {
      case 0:
        return Push("negate", Moved(builder::Negate(x.v), x));
      case 1:
        return Push("abs", Moved(builder::Abs(x.v), x));
      case 2:
        return Push("floor", Item{builder::Floor(x.v), x.magnitude + 1, 0, 0});
      case 3:
        return Push("sign", Item{builder::Sign(x.v), 1, 0, 0});
      default:
        return Push("round", Item{builder::RoundNearestEven(x.v), x.magnitude + 1, 0, 0});
    }
  }

  // Functions of slope 1 at most, of x or of |x| + 1, and exp where it is not steep.
  bool Smooth(const Item& x) {
    const auto made = [&](Value v, double magnitude, double slope) {
      return Item{v, magnitude, x.error * slope + kMathRoundings * magnitude * Rounding(v.dtype()), 0};
    };
    const auto positive = [&] { return builder::Add(builder::Abs(x.v), builder::FullLike(x.v, 1)); };
    switch (Int(0, 7)) {
      case 0:
        return Push("tanh", made(builder::Tanh(x.v), 1, 1));
      case 1:
        return Push("sine", made(builder::Sine(x.v), 1, 1));
      case 2:
        return Push("cosine", made(builder::Cosine(x.v), 1, 1));
      case 3:
        return Push("logistic", made(builder::Logistic(x.v), 1, 1));
      case 4:
        return Push("sqrt", made(builder::Sqrt(positive()), x.magnitude + 1, 1));
      case 5:
        return Push("log", made(builder::Log(positive()), x.magnitude + 1, 1));
      case 6:
        return Push("rsqrt", made(builder::Rsqrt(positive()), 1, 1));
      default:
        if (x.magnitude > 5) return false;
        return Push("exponential", made(builder::Exponential(x.v), std::exp(x.magnitude), std::exp(x.magnitude)));
    }
  }

  bool Bits(const Item& x) {
    const double all = std::ldexp(1.0, DTypeBits(x.v.dtype()));
    const auto full = [&](int64_t low, int64_t high) {
      return builder::FullLike(x.v, static_cast<double>(Int(low, high)));
    };
    switch (Int(0, 9)) {
      case 0:
        return Push("and", Item{builder::And(x.v, Like(x).v), all, 0, 0});
      case 1:
        return Push("or", Item{builder::Or(x.v, Like(x).v), all, 0, 0});
      case 2:
        return Push("xor", Item{builder::Xor(x.v, Like(x).v), all, 0, 0});
      case 3:
        return Push("not", Item{builder::Not(x.v), all, 0, 0});
      case 4:
        return Push("shift_left", Item{builder::ShiftLeft(x.v, full(0, DTypeBits(x.v.dtype()) + 1)), all, 0, 0});
      case 5:
        return Push("shift_right", Item{builder::ShiftRightArithmetic(x.v, full(0, 9)), all, 0, 0});
      case 6:
        return Push("popcnt", Item{builder::Popcnt(x.v), 64, 0, 0});
      case 7:
        return Push("count_leading_zeros", Item{builder::CountLeadingZeros(x.v), 64, 0, 0});
      case 8:
        return Push("divide", Item{builder::Divide(x.v, full(1, 100)), x.magnitude, 0, 0});
      default:
        return Push("remainder", Item{builder::Remainder(x.v, full(1, 100)), 100, 0, 0});
    }
  }

  // By a comparison that has one answer.
  bool Choose(const Item& x) {
    const Item y = Like(x);
    if (!x.exact() || !y.exact()) return false;
    const auto direction =
        Pick<builder::Direction>({builder::Direction::kEq, builder::Direction::kNe, builder::Direction::kLt,
                                  builder::Direction::kLe, builder::Direction::kGt, builder::Direction::kGe});
    const Value less = builder::Compare(x.v, y.v, direction);
    const Item z = Like(x);
    return Push("select", Made(builder::Select(less, x.v, z.v), std::max(x.magnitude, z.magnitude),
                               std::max(x.error, z.error), std::max(x.scale, z.scale), 0));
  }

  bool Move(const Item& x) {
    const Dims& dims = x.v.dims();
    const size_t rank = dims.size();
    if (rank == 0) return false;
    switch (Int(0, 4)) {
      case 0: {
        Dims order(rank);
        for (size_t i = 0; i < rank; ++i) order[i] = static_cast<int64_t>(i);
        for (int64_t i = static_cast<int64_t>(rank) - 1; i > 0; --i)
          std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(Int(0, i))]);
        return Push("transpose", Moved(builder::Transpose(x.v, order), x));
      }
      case 1:
        return Push("reverse", Moved(builder::Reverse(x.v, {AnyDim(x)}), x));
      case 2: {
        Dims starts, limits, strides;
        for (const int64_t n : dims) {
          starts.push_back(Int(0, n / 2));
          limits.push_back(Int(starts.back(), n));
          strides.push_back(Int(1, 3));
        }
        return Push("slice", Moved(builder::Slice(x.v, starts, limits, strides), x));
      }
      case 3: {
        Values starts;
        Dims sizes;
        for (const int64_t n : dims) {
          starts.push_back(Indices({}, n));
          sizes.push_back(Int(n > 0 ? 1 : 0, n));
        }
        return Push("dynamic_slice", Moved(builder::DynamicSlice(x.v, starts, sizes), x));
      }
      default: {
        Dims flat{NumElements(dims)};
        if (rank == 1 && flat[0] % 4 == 0) flat = {flat[0] / 4, 4};
        return Push("reshape", Moved(builder::Reshape(x.v, flat), x));
      }
    }
  }

  bool Resize(const Item& x) {
    const Dims& dims = x.v.dims();
    const size_t rank = dims.size();
    switch (Int(0, 3)) {
      case 0: {
        Dims to = dims;
        const auto at = static_cast<size_t>(Int(0, static_cast<int64_t>(rank)));
        to.insert(to.begin() + static_cast<std::ptrdiff_t>(at), Int(1, 9));
        Dims map;
        for (size_t i = 0; i < rank; ++i) map.push_back(static_cast<int64_t>(i < at ? i : i + 1));
        return Push("broadcast", Moved(builder::BroadcastInDim(x.v, to, map), x));
      }
      case 1: {
        if (rank == 0) return false;
        const Item y = Like(x);
        return Push("concatenate", Made(builder::Concatenate({x.v, y.v}, AnyDim(x)), std::max(x.magnitude, y.magnitude),
                                        std::max(x.error, y.error), std::max(x.scale, y.scale), 0));
      }
      case 2: {
        if (rank == 0) return false;
        Dims low, high, interior;
        for (const int64_t n : dims) {
          interior.push_back(n > 100 ? 0 : Int(0, 1));
          low.push_back(Int(n > 2 ? -1 : 0, 3));
          high.push_back(Int(n > 2 ? -1 : 0, 3));
        }
        const Value zero = builder::Full(main_, {x.v.dtype(), {}}, 0);
        return Push("pad", Moved(builder::Pad(x.v, zero, low, high, interior), x));
      }
      default: {
        if (rank == 0 || NumElements(dims) == 0) return false;
        Dims part;
        Values starts;
        for (const int64_t n : dims) {
          part.push_back(Int(1, n));
          starts.push_back(Indices({}, n));
        }
        const Item y = Parameter(x.v.dtype(), part);
        return Push("dynamic_update_slice",
                    Made(builder::DynamicUpdateSlice(x.v, y.v, starts), std::max(x.magnitude, y.magnitude), x.error,
                         std::max(x.scale, y.scale), 0));
      }
    }
  }

  bool Reduction(const Item& x) {
    Dims dims;
    double count = 1;
    for (int64_t d = 0; d < x.v.rank(); ++d) {
      if (Chance(50)) continue;
      dims.push_back(d);
      count *= static_cast<double>(std::max<int64_t>(At(x.v.dims(), d), 1));
    }
    if (Chance(60)) {
      return Push("reduce_add", Made(builder::Reduce(x.v, builder::Reduction::kSum, dims), x.magnitude * count,
                                     x.error * count, x.scale, count));
    }
    if (NumElements(x.v.dims()) == 0) return false;  // Infinities.
    const bool most = Chance(50);
    return Push(most ? "reduce_maximum" : "reduce_minimum",
                Moved(builder::Reduce(x.v, most ? builder::Reduction::kMax : builder::Reduction::kMin, dims), x));
  }

  // The product's error and roundings, of sums of `count` products.
  Item Products(Value v, const Item& x, const Item& y, double count) const {
    const double error = (x.error * y.magnitude + y.error * x.magnitude + x.error * y.error) * count;
    return Made(v, x.magnitude * y.magnitude * count, error, x.scale + y.scale, count + 1);
  }

  bool Product(const Item& x) {
    if (x.v.rank() < 1) return false;
    Dims other = x.v.dims();
    const int64_t inner = other.back();
    if (x.v.rank() == 1) {
      other = {inner, Extent()};
    } else {
      other[other.size() - 2] = inner;
      other.back() = Extent();
    }
    if (NumElements(other) > kMostElements) return false;
    const Item y = Parameter(x.v.dtype(), other);
    const int64_t rank = x.v.rank();
    builder::DotDims dims;
    for (int64_t d = 0; d + 2 < rank; ++d) {
      dims.lhs_batching.push_back(d);
      dims.rhs_batching.push_back(d);
    }
    dims.lhs_contracting = {rank - 1};
    dims.rhs_contracting = {std::max<int64_t>(rank - 2, 0)};
    const std::vector<builder::Precision> precision(2, builder::Precision::kHighest);
    return Push("dot_general", Products(builder::DotGeneral(x.v, y.v, dims, {.precision = precision}), x, y,
                                        static_cast<double>(std::max<int64_t>(inner, 1))));
  }

  bool Convolved(const Item& x) {
    if (x.v.rank() != 3 || !IsFloat(x.v.dtype()) || NumElements(x.v.dims()) == 0) return false;
    // [batch, place, feature] with [window, feature, result].
    const int64_t features = At(x.v.dims(), 2), window = Int(1, std::min<int64_t>(5, At(x.v.dims(), 1)));
    if (features * window > 2000) return false;
    const Item y = Parameter(x.v.dtype(), {window, features, Int(1, 17)});
    const builder::ConvDims dims{.input_batch = 0,
                                 .input_feature = 2,
                                 .input_spatial = {1},
                                 .kernel_output_feature = 2,
                                 .kernel_input_feature = 1,
                                 .kernel_spatial = {0},
                                 .output_batch = 0,
                                 .output_feature = 2,
                                 .output_spatial = {1}};
    builder::ConvOptions options;
    options.strides = {Int(1, 2)};
    options.padding = {{Int(0, 2), Int(0, 2)}};
    options.precision.assign(2, builder::Precision::kHighest);
    return Push("convolution",
                Products(builder::Convolution(x.v, y.v, dims, options), x, y, static_cast<double>(features * window)));
  }

  bool Sorted(const Item& x) {
    if (x.v.rank() == 0) return false;
    const int64_t dim = AnyDim(x);
    const auto direction = Chance(50) ? builder::Direction::kLt : builder::Direction::kGt;
    if (x.exact() && Chance(50)) {  // Keys that have one order, with places.
      const Value places = builder::Iota(main_, {DType::kS32, x.v.dims()}, dim);
      const Values sorted = builder::Sort(
          {x.v, places}, dim, true, [&](std::span<const Value> a) { return builder::Compare(a[0], a[1], direction); });
      if (sorted.size() != 2) return false;
      return Push("sort_places", Item{sorted[1], static_cast<double>(At(x.v.dims(), dim)), 0, 0});
    }
    const Values sorted =
        builder::Sort({x.v}, dim, true, [&](Value a, Value b) { return builder::Compare(a, b, direction); });
    return !sorted.empty() && Push("sort", Moved(sorted[0], x));
  }

  bool Window(const Item& x) {
    if (x.v.rank() == 0 || NumElements(x.v.dims()) == 0) return false;
    builder::WindowOptions window;
    const int64_t along = AnyDim(x), n = At(x.v.dims(), along);
    const bool running = Chance(40);
    const int64_t size = running ? n : Int(1, std::min<int64_t>(n, 5));
    for (int64_t d = 0; d < x.v.rank(); ++d) {
      window.size.push_back(d == along ? size : 1);
      window.strides.push_back(d == along && !running ? Int(1, 2) : 1);
      window.padding.emplace_back(d == along && running ? n - 1 : 0, 0);
    }
    const Value zero = builder::Full(main_, {x.v.dtype(), {}}, 0);
    const Values made =
        builder::ReduceWindow({x.v}, {zero}, window, [](Value a, Value b) { return builder::Add(a, b); });
    const auto count = static_cast<double>(size);
    return !made.empty() && Push(running ? "running_sum" : "reduce_window",
                                 Made(made[0], x.magnitude * count, x.error * count, x.scale, count));
  }

  // Rows by their numbers; places outside are clamped.
  bool Taken(const Item& x) {
    if (x.v.rank() == 0 || NumElements(x.v.dims()) == 0) return false;
    const Value indices = Indices({Extent(), 1}, At(x.v.dims(), 0));
    builder::GatherDims dims;
    Dims sizes = x.v.dims();
    sizes[0] = 1;
    for (int64_t d = 1; d < x.v.rank(); ++d) dims.offset_dims.push_back(d);
    dims.collapsed_slice_dims = {0};
    dims.start_index_map = {0};
    dims.index_vector_dim = 1;
    return Push("gather", Moved(builder::Gather(x.v, indices, dims, sizes), x));
  }

  // Adds rows; those outside are left out.
  bool Scattered(const Item& x) {
    if (x.v.rank() == 0 || NumElements(x.v.dims()) == 0) return false;
    const int64_t rows = Int(1, 20);
    const Value indices = Indices({rows, 1}, At(x.v.dims(), 0));
    Dims updates = x.v.dims();
    updates[0] = rows;
    if (NumElements(updates) > kMostElements) return false;
    const Item y = Parameter(x.v.dtype(), updates);
    builder::ScatterDims dims;
    for (int64_t d = 1; d < x.v.rank(); ++d) dims.update_window_dims.push_back(d);
    dims.inserted_window_dims = {0};
    dims.scatter_dims_to_operand_dims = {0};
    dims.index_vector_dim = 1;
    const Values made =
        builder::Scatter({x.v}, indices, {y.v}, dims, [](Value a, Value b) { return builder::Add(a, b); });
    const auto count = static_cast<double>(rows);
    return !made.empty() && Push("scatter", Made(made[0], x.magnitude + y.magnitude * count, x.error,
                                                 std::max(x.scale, y.scale), count));
  }

  // x = x / 2 + y, a few times over.
  bool Loop(const Item& x) {
    const Item y = Like(x);
    const int64_t trips = Int(0, 6);
    const DType type = x.v.dtype();
    const Value start = builder::Constant<int32_t>(main_, 0);
    const Values made = builder::While(
        {start, x.v},
        [&](Value i, Value) {
          return builder::Compare(i, builder::Constant<int32_t>(main_, static_cast<int32_t>(trips)),
                                  builder::Direction::kLt);
        },
        [&](Value i, Value v) {
          const Value half = IsFloat(type) ? builder::Multiply(v, builder::FullLike(v, 0.5))
                                           : builder::Divide(v, builder::FullLike(v, 2));
          return Values{builder::Add(i, builder::Constant<int32_t>(main_, 1)), builder::Add(half, y.v)};
        });
    if (made.size() != 2) return false;
    return Push("while", Made(made[1], x.magnitude + 2 * y.magnitude, x.error + 2 * y.error,
                              std::max(x.scale, y.scale) + static_cast<int>(trips), 2 * static_cast<double>(trips)));
  }

  bool Branch(const Item& x) {
    const Item y = Like(x);
    const Value index = Indices({}, 3);
    const Values made = builder::Case(index, {[&] { return builder::Add(x.v, y.v); },
                                              [&] { return builder::Maximum(x.v, y.v); }, [&] { return x.v; }});
    return !made.empty() &&
           Push("case", Made(made[0], x.magnitude + y.magnitude, x.error + y.error, std::max(x.scale, y.scale)));
  }

  bool Converted(const Item& x) {
    const DType to = Pick<DType>({DType::kF32, DType::kF64, DType::kBF16, DType::kF16, DType::kS32});
    if (to == x.v.dtype()) return false;
    if (IsFloat(to)) {
      // What does not fit a narrow type becomes infinite.
      if (to == DType::kF16 && x.magnitude > 60000) return false;
      return Push("convert", Made(builder::Convert(x.v, to), x.magnitude, x.error, x.scale));
    }
    if (IsFloat(x.v.dtype()) && !x.exact()) return false;
    return Push("convert", Item{builder::Convert(x.v, to), x.magnitude, 0, 0});
  }

  void Return(const std::vector<Item>& items) {
    Values results;
    for (const Item& item : items) {
      results.push_back(item.v);
      // Either of the two that are compared may be off by the error.
      case_.outputs.push_back({{item.v.dtype(), item.v.dims()}, 2 * item.error});
    }
    main_.Return(results);
  }

  std::mt19937_64 random_;
  builder::Module module_;
  builder::Function& main_;
  DType type_ = DType::kF32;
  std::vector<Item> pool_;
  Case case_;
};

}  // namespace

Result<Case> MakeCase(uint64_t seed) { return Generator(seed).Run(); }

}  // namespace tenon::conformance
