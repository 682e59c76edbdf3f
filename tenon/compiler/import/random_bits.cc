#include "tenon/compiler/import/random_bits.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "tenon/compiler/import/writer.h"

namespace tenon::compiler {
namespace {

using mlir::Value;
using Dims = llvm::SmallVector<int64_t>;
using Pair = std::pair<Value, Value>;

/// All arrays are of u32 or u64, of one shape at a time.
class Streams {
 public:
  explicit Streams(stablehlo::RngBitGeneratorOp op)
      : w_(op), out_(TensorOf(op->getResult(1))), state_type_(TensorOf(op->getOperand(0))) {
    const Value state = w_.Convert(op->getOperand(0), w_.Unsigned(64));
    for (int64_t i = 0; i < state_type_.getNumElements(); ++i)
      state_.push_back(w_.Reshape(w_.Slice(state, i, i + 1, 1), {}));
  }

  llvm::SmallVector<Value> Threefry(bool wide) {
    const Dims dims(out_.getShape());
    // A block gives two words of 32 bits: two neighbours along one dim, the first even one or else the largest.
    size_t split = dims.size();
    Dims blocks = dims;
    if (!wide && !dims.empty()) {
      for (size_t d = dims.size(); d-- > 0;) {
        if (dims[d] % 2 == 0) split = d;
      }
      if (split == dims.size()) split = static_cast<size_t>(std::max_element(dims.begin(), dims.end()) - dims.begin());
      blocks[split] = (dims[split] + 1) / 2;
    }
    const auto [low, high] = ThreefryBlocks(Halves(Counters(blocks)));
    state_[1] = Plus(state_[1], Constant64({}, Count(blocks)));
    if (wide) return {State(), FromWide(JoinHalves({low, high}))};
    if (dims.empty()) return {State(), FromWords(low)};
    Dims parts = blocks;
    parts.insert(parts.begin() + static_cast<std::ptrdiff_t>(split) + 1, 1);
    const Value both =
        w_.Concatenate({w_.Reshape(low, parts), w_.Reshape(high, parts)}, static_cast<int64_t>(split) + 1);
    Dims even = blocks;
    even[split] *= 2;
    const Value words = w_.Reshape(both, even);
    return {State(), FromWords(w_.Slice(words, Dims(dims.size(), 0), dims, Dims(dims.size(), 1)))};
  }

  llvm::SmallVector<Value> Philox(bool wide) {
    const int64_t words = out_.getNumElements(), per_block = wide ? 2 : 4, blocks = (words + per_block - 1) / per_block;
    const Value low = Counters(blocks), first = Spread(state_[1], blocks);
    const Value carry = w_.Convert(w_.Compare(low, first, "LT"), w_.Unsigned(64));
    const Value high = Plus(Spread(state_.size() > 2 ? state_[2] : state_[0], blocks), carry);
    llvm::SmallVector<Value> parts = PhiloxBlocks(Halves(low), Halves(high), blocks);
    const Value last = Plus(state_[1], Constant64({}, static_cast<uint64_t>(blocks)));
    if (state_.size() > 2) state_[2] = Plus(state_[2], w_.Convert(w_.Compare(last, state_[1], "LT"), w_.Unsigned(64)));
    state_[1] = last;
    if (wide) parts = {JoinHalves({parts[0], parts[1]}), JoinHalves({parts[2], parts[3]})};
    for (Value& v : parts) v = w_.Reshape(v, {blocks, 1});
    const Value all = w_.Reshape(w_.Concatenate(parts, 1), blocks * per_block);
    const Value bits = w_.Reshape(w_.Slice(all, 0, words, 1), out_.getShape());
    return {State(), wide ? FromWide(bits) : FromWords(bits)};
  }

 private:
  static uint64_t Count(llvm::ArrayRef<int64_t> dims) {
    uint64_t count = 1;
    for (const int64_t d : dims) count *= static_cast<uint64_t>(d);
    return count;
  }
  Value Constant64(llvm::ArrayRef<int64_t> dims, uint64_t v) { return w_.Ints(w_.Tensor(dims, w_.Unsigned(64)), v); }
  Value Constant32(Value like, uint32_t v) { return w_.Ints(TensorOf(like), v); }
  Value Spread(Value scalar, llvm::ArrayRef<int64_t> dims) { return w_.Broadcast(scalar, dims, {}); }
  Value Plus(Value x, Value y) { return w_.Binary("stablehlo.add", x, y); }
  Value Xor(Value x, Value y) { return w_.Binary("stablehlo.xor", x, y); }
  Value ShiftRight(Value v, uint64_t by) {
    return w_.Binary("stablehlo.shift_right_logical", v, w_.Ints(TensorOf(v), by));
  }
  Value ShiftLeft(Value v, uint64_t by) { return w_.Binary("stablehlo.shift_left", v, w_.Ints(TensorOf(v), by)); }
  Pair Halves(Value v) { return {w_.Convert(v, w_.Unsigned(32)), w_.Convert(ShiftRight(v, 32), w_.Unsigned(32))}; }
  Value JoinHalves(Pair halves) {
    const Value low = w_.Convert(halves.first, w_.Unsigned(64)), high = w_.Convert(halves.second, w_.Unsigned(64));
    return w_.Binary("stablehlo.or", low, ShiftLeft(high, 32));
  }

  /// The counter of the state plus the row-major number of each element.
  Value Counters(llvm::ArrayRef<int64_t> dims) {
    const int64_t n = static_cast<int64_t>(Count(dims));
    const Value numbers = w_.Reshape(w_.Iota(w_.Tensor(n, w_.Unsigned(64)), 0), dims);
    return Plus(Spread(state_[1], dims), numbers);
  }

  Pair ThreefryBlocks(Pair counter) {
    const Dims dims(TensorOf(counter.first).getShape());
    const Pair key = Halves(state_[0]);
    const Value parity = Xor(Xor(key.first, key.second), Constant32(key.first, 0x1bd11bdau));
    const Value keys[3] = {Spread(key.first, dims), Spread(key.second, dims), Spread(parity, dims)};
    constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    Value x = Plus(counter.first, keys[0]), y = Plus(counter.second, keys[1]);
    for (uint32_t group = 0; group < 5; ++group) {  // structural: 20 rounds
      for (const int by : kRotations[group % 2]) {
        x = Plus(x, y);
        const auto left = static_cast<uint64_t>(by);
        y = Xor(w_.Binary("stablehlo.or", ShiftLeft(y, left), ShiftRight(y, 32 - left)), x);
      }
      x = Plus(x, keys[(group + 1) % 3]);
      y = Plus(Plus(y, keys[(group + 2) % 3]), Constant32(y, group + 1));
    }
    return {x, y};
  }

  llvm::SmallVector<Value> PhiloxBlocks(Pair low, Pair high, int64_t blocks) {
    Value c[4] = {low.first, low.second, high.first, high.second};
    const Pair halves = Halves(state_[0]);
    Value k0 = halves.first, k1 = halves.second;
    const auto product = [&](Value v, uint32_t factor) {
      const Value wide = w_.Convert(v, w_.Unsigned(64));
      return Halves(w_.Binary("stablehlo.multiply", wide, w_.Ints(TensorOf(wide), factor)));
    };
    for (int round = 0; round < 10; ++round) {  // structural: Philox-4x32-10
      const Pair p0 = product(c[0], 0xd2511f53u), p1 = product(c[2], 0xcd9e8d57u);
      c[0] = Xor(Xor(p1.second, c[1]), Spread(k0, blocks));
      c[1] = p1.first;
      c[2] = Xor(Xor(p0.second, c[3]), Spread(k1, blocks));
      c[3] = p0.first;
      k0 = Plus(k0, Constant32(k0, 0x9e3779b9u));
      k1 = Plus(k1, Constant32(k1, 0xbb67ae85u));
    }
    return {c[0], c[1], c[2], c[3]};
  }

  Value State() {
    llvm::SmallVector<Value> words;
    for (Value v : state_) words.push_back(w_.Reshape(v, 1));
    return w_.Convert(w_.Concatenate(words, 0), state_type_.getElementType());
  }
  Value FromWide(Value words) { return OfBits(words, 64); }
  /// Of narrower types, the low bits of each word.
  Value FromWords(Value words) {
    const mlir::Type element = out_.getElementType();
    const unsigned width = element.getIntOrFloatBitWidth();
    return OfBits(w_.Convert(words, w_.Unsigned(width)), width);
  }
  Value OfBits(Value bits, unsigned width) {
    if (out_.getElementType() == w_.Unsigned(width)) return bits;
    return w_.Op("stablehlo.bitcast_convert", bits, out_);
  }

  OpWriter w_;
  mlir::RankedTensorType out_, state_type_;
  std::vector<Value> state_;  // Words of u64: key, counter, and perhaps the counter's upper half.
};

}  // namespace

std::optional<llvm::SmallVector<Value>> RandomBits(stablehlo::RngBitGeneratorOp op) {
  const mlir::RankedTensorType state = TensorOf(op->getOperand(0)), out = TensorOf(op->getResult(1));
  const mlir::Type element = out.getElementType();
  const bool threefry = op.getRngAlgorithm() == stablehlo::RngAlgorithm::THREE_FRY;
  const int64_t words = state.getRank() == 1 ? state.getNumElements() : 0;
  if (!element.isIntOrFloat() || !state.getElementType().isInteger(64)) return std::nullopt;
  const unsigned width = element.getIntOrFloatBitWidth();
  const bool known = width == 8 || width == 16 || width == 32 || width == 64;
  const bool narrow_float =
      mlir::isa<mlir::FloatType>(element) && width < 16;  // structural: f8 has no bits of its own here
  if (!known || narrow_float || words < 2 || words > (threefry ? 2 : 3)) return std::nullopt;
  return threefry ? Streams(op).Threefry(width == 64) : Streams(op).Philox(width == 64);
}

namespace {

/// Numbers of a distribution, from words of a stream with a key of its own.
class Draws {
 public:
  explicit Draws(stablehlo::RngOp op)
      : op_(op), w_(op), out_(TensorOf(op->getResult(0))), wide_(out_.getElementType().getIntOrFloatBitWidth() == 64) {}

  std::optional<Value> Make() {
    const bool floats = mlir::isa<mlir::FloatType>(out_.getElementType());
    const bool normal = op_.getRngDistribution() == stablehlo::RngDistribution::NORMAL;
    Dims dims(out_.getShape());
    if (normal) dims.insert(dims.begin(), 2);
    words_ = w_.Tensor(dims, w_.Unsigned(wide_ ? 64 : 32));
    const std::optional<Value> words = Words();
    if (!words) return std::nullopt;
    return normal ? Normal(*words) : floats ? Uniform(*words) : Integers(*words);
  }

 private:
  std::optional<Value> Words() {
    // What is left of it: the key of a stream, which differs each time that it runs.
    const auto state = w_.Tensor(2, w_.Unsigned(64)), word = w_.Tensor({}, w_.Unsigned(64));
    const auto uniform = stablehlo::RngDistributionAttr::get(op_->getContext(), stablehlo::RngDistribution::UNIFORM);
    const Value key =
        w_.Op("stablehlo.rng",
              {w_.Ints(word, uint64_t{0}), w_.Ints(word, ~uint64_t{0}), w_.Ints(w_.Tensor(1, w_.Int(64)), uint64_t{2})},
              state, w_.Attribute("rng_distribution", uniform));
    mlir::OperationState bits(op_->getLoc(), "stablehlo.rng_bit_generator");
    bits.addOperands(key);
    bits.addTypes({state, words_});
    bits.addAttribute("rng_algorithm",
                      stablehlo::RngAlgorithmAttr::get(op_->getContext(), stablehlo::RngAlgorithm::THREE_FRY));
    auto generator = mlir::cast<stablehlo::RngBitGeneratorOp>(w_.builder().create(bits));
    const auto values = RandomBits(generator);
    generator->erase();
    if (!values) return std::nullopt;
    return (*values)[1];
  }

  /// Of [0, 1), as many as the type has digits there.
  Value Fractions(Value words) {
    const int digits = wide_ ? 53 : 24;
    const Value whole = w_.Binary("stablehlo.shift_right_logical", words,
                                  w_.Ints(TensorOf(words), static_cast<uint64_t>((wide_ ? 64 : 32) - digits)));
    return Times(w_.Convert(whole, wide_ ? w_.f64() : w_.f32()), std::ldexp(1.0, -digits));
  }

  Value Uniform(Value words) {
    const Value low = Parameter(0), high = Parameter(1);
    const Value range = w_.Binary("stablehlo.subtract", high, low);
    const Value drawn = w_.Binary("stablehlo.add", low, w_.Binary("stablehlo.multiply", range, Fractions(words)));
    // Rounding must not reach the upper end, which is outside.
    const Value kept = w_.Convert(drawn, out_.getElementType());
    const Value least = w_.Convert(low, out_.getElementType()), most = w_.Convert(high, out_.getElementType());
    return w_.Op("stablehlo.select", {w_.Compare(kept, most, "GE"), least, kept}, out_);
  }

  /// Box and Muller's.
  Value Normal(Value words) {
    const Value u = Fractions(words);
    const Value radius =
        w_.Unary("stablehlo.sqrt", Times(w_.Unary("stablehlo.log", Plus(Times(Half(u, 0), -1), 1)), -2));
    const Value turn = w_.Unary("stablehlo.cosine", Times(Half(u, 1), 2 * std::numbers::pi));
    const Value drawn = w_.Binary("stablehlo.multiply", Parameter(1), w_.Binary("stablehlo.multiply", radius, turn));
    return w_.Convert(w_.Binary("stablehlo.add", Parameter(0), drawn), out_.getElementType());
  }

  /// low + the upper half of word * range, all of which wraps at the type's width.
  Value Integers(Value words) {
    const mlir::Type element = words_.getElementType();
    const unsigned bits = out_.getElementType().getIntOrFloatBitWidth();
    const Value low = w_.Broadcast(w_.Convert(op_->getOperand(0), element), out_.getShape(), {}),
                high = w_.Broadcast(w_.Convert(op_->getOperand(1), element), out_.getShape(), {});
    const Value range = w_.Binary("stablehlo.and", w_.Binary("stablehlo.subtract", high, low),
                                  w_.Ints(words_, wide_ ? ~uint64_t{0} : (uint64_t{1} << bits) - 1));
    const Value drawn = w_.Binary("stablehlo.add", low, HighProduct(w_, words, range));
    if (!out_.getElementType().isInteger(1)) return w_.Convert(drawn, out_.getElementType());
    return w_.Compare(w_.Binary("stablehlo.and", drawn, w_.Ints(words_, uint64_t{1})), w_.Ints(words_, uint64_t{0}),
                      "NE");
  }

  Value Parameter(unsigned i) {
    return w_.Broadcast(w_.Convert(op_->getOperand(i), wide_ ? w_.f64() : w_.f32()), out_.getShape(), {});
  }
  Value Half(Value v, int64_t which) {
    Dims start(static_cast<size_t>(out_.getRank()) + 1, 0), limit(TensorOf(v).getShape());
    start[0] = which;
    limit[0] = which + 1;
    return w_.Reshape(w_.Slice(v, start, limit, Dims(start.size(), 1)), out_.getShape());
  }
  Value Times(Value v, double factor) { return w_.Binary("stablehlo.multiply", v, w_.Floats(TensorOf(v), factor)); }
  Value Plus(Value v, double term) { return w_.Binary("stablehlo.add", v, w_.Floats(TensorOf(v), term)); }

  stablehlo::RngOp op_;
  OpWriter w_;
  mlir::RankedTensorType out_, words_;
  bool wide_;
};

}  // namespace

std::optional<Value> RandomNumbers(stablehlo::RngOp op) {
  constexpr int64_t kKey = 2;  // structural: so many are drawn one by one anyway
  const mlir::RankedTensorType out = TensorOf(op->getResult(0));
  if (!out.getElementType().isIntOrFloat() || out.getNumElements() <= kKey) return std::nullopt;
  return Draws(op).Make();
}

}  // namespace tenon::compiler
