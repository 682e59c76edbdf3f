#include "tenon/kir/testing/random_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tenon/base/neutral.h"
#include "tenon/base/splitmix.h"
#include "tenon/kir/builder.h"
#include "tenon/kir/internal/scalar.h"
#include "tenon/kir/math.h"

namespace tenon::kir::testing {
namespace {

class Random {
 public:
  explicit Random(uint64_t seed) : numbers_(seed + 1) {}
  uint64_t Bits() { return numbers_.Next(); }
  int64_t Below(int64_t n) { return static_cast<int64_t>(Bits() % static_cast<uint64_t>(n)); }
  int64_t Between(int64_t lo, int64_t hi) { return lo + Below(hi - lo + 1); }
  bool Chance(int percent) { return Below(100) < percent; }
  template <class L>
  auto Pick(const L& list) {
    return list[static_cast<size_t>(Below(static_cast<int64_t>(std::size(list))))];
  }

 private:
  SplitMix numbers_;
};

// Values that find mistakes: zeros, ones, extremes, subnormals, NaNs, and ordinary numbers.
uint64_t RandomValue(Random& random, DType type) {
  const int width = DTypeBits(type);
  const uint64_t mask = width >= 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  if (type == DType::kPred) return static_cast<uint64_t>(random.Below(2));
  const int64_t how = random.Below(20);
  if (IsFloat(type)) {
    if (how == 0) return random.Bits() & mask;
    if (how == 1) return LiteralBits(type, random.Pick(std::vector<double>{0.0, -0.0, HUGE_VAL, -HUGE_VAL, 1.0, -1.0}));
    if (how == 2)
      return (random.Bits() & (uint64_t{1} << (width - 1))) |
             static_cast<uint64_t>(random.Below(4));  // zeros and subnormals
    if (how < 8) return LiteralBits(type, static_cast<double>(random.Between(-8, 8)));
    return LiteralBits(type, (static_cast<double>(random.Bits() >> 11) * 0x1p-53 - 0.5) *
                                 std::ldexp(1.0, static_cast<int>(random.Between(-3, 6))));
  }
  if (how == 0) return random.Bits() & mask;
  if (how == 1) return random.Chance(50) ? LowestBits(type) : HighestBits(type);
  return LiteralBits(type, random.Between(IsSigned(type) ? -9 : 0, 20));
}

class Generator {
 public:
  Generator(uint64_t seed, const RandomKernelOptions& options) : random_(seed), options_(options) {}

  Sample Run() {
    const int64_t outer_dims = random_.Chance(40) ? 1 : random_.Chance(10) ? 2 : 0;
    for (int64_t i = 0; i < outer_dims; ++i) AddDim(random_.Between(1, 5), DimKind::kParallel);
    b_.kernel().outer = static_cast<uint8_t>(outer_dims);
    for (int64_t d = 0; d < outer_dims; ++d) outer_.push_back(static_cast<DimId>(d));

    const int64_t what = random_.Below(10);
    if (what < 4 || (!options_.reduces && !options_.loops && !options_.scatters)) {
      Elementwise();
    } else if (what < 7 && options_.reduces) {
      random_.Chance(50) ? RowChain() : FreeReduce();
    } else if (what == 7 && options_.loops && options_.places && random_.Chance(70)) {
      RowLoop();
    } else if (what == 7 && options_.loops) {
      CountedLoop();
    } else if (what == 8 && options_.scatters) {
      Scatter();
    } else {
      random_.Chance(50) ? Boxes() : NestsOfTheirOwn();
    }
    return Finish();
  }

 private:
  using Type = DType;
  struct Value {
    Val v;
    bool exact;  // Its bits are determined even where it is NaN.
  };
  using Pool = std::vector<Value>;

  // Pieces
  // ---------------------------------------------------------------------------------------------------------------------------------

  // A number that the kernel knows now, or only as a parameter.
  Size Maybe(int64_t value) {
    if (!options_.params || !random_.Chance(25)) return Size::Of(value);
    for (size_t i = 0; i < params_.size(); ++i) {
      if (params_[i] == value) return Size::Param(static_cast<int32_t>(i));
    }
    params_.push_back(value);
    return Size::Param(b_.AddParam());
  }

  DimId AddDim(int64_t extent, DimKind kind) {
    const DimId d = b_.AddDim(Maybe(extent), kind);
    extent_.push_back(extent);
    return d;
  }
  int64_t VectorExtent() {
    return random_.Chance(10)   ? random_.Between(0, 3)
           : random_.Chance(20) ? random_.Between(100, 300)
                                : random_.Between(1, 70);
  }

  // A buffer with room for these extents, in a random order of axes and with random gaps.
  Buf AddBuffer(BufKind kind, Type type, const std::vector<int64_t>& extents) {
    const size_t rank = extents.size();
    std::vector<size_t> order(rank);
    for (size_t i = 0; i < rank; ++i) order[i] = i;
    if (random_.Chance(25)) {
      for (size_t i = rank; i > 1; --i)
        std::swap(order[i - 1], order[static_cast<size_t>(random_.Below(static_cast<int64_t>(i)))]);
    }
    std::vector<int64_t> stride(rank);
    int64_t next = random_.Chance(10) ? 2 : 1;
    for (size_t i = rank; i-- > 0;) {
      stride[order[i]] = next;
      next *= std::max<int64_t>(extents[order[i]], 1) + (random_.Chance(15) ? 1 : 0);
    }
    SmallVector<Size, 4> e, s;
    for (size_t i = 0; i < rank; ++i) {
      e.push_back(Maybe(extents[i]));
      s.push_back(Maybe(stride[i]));
    }
    return b_.AddBuffer(kind, type, e, s);
  }

  // A read whose axes follow a random part of `dims`, by random steps; guarded at times, with the buffer too small for
  // the unguarded box.
  Value RandomRead(const std::vector<DimId>& dims, Type type) {
    kir::Read read;
    std::vector<int64_t> extents;
    const bool guarded = random_.Chance(20);
    for (DimId d : dims) {
      if (random_.Chance(15)) continue;  // broadcast
      if (options_.places && !places_data_ && random_.Chance(30)) {
        extents.push_back(PlaceByData(dims, d, read, extents.empty()));
        continue;
      }
      int64_t coef = random_.Chance(70) ? 1 : random_.Pick(std::vector<int64_t>{-1, 2, -2, 3});
      int64_t low = coef < 0 ? coef * std::max<int64_t>(extent_[d] - 1, 0) : 0;
      int64_t high = coef > 0 ? coef * std::max<int64_t>(extent_[d] - 1, 0) : 0;
      Axis axis = At(d, Maybe(coef));
      if (random_.Chance(10) && dims.size() > 1) {  // a window
        const DimId other = random_.Pick(dims);
        axis.terms.push_back({other, Size::Of(1)});
        high += std::max<int64_t>(extent_[other] - 1, 0);
      }
      const int64_t slack = random_.Chance(20) ? random_.Between(1, 3) : 0;
      int64_t extent = high - low + 1 + slack;
      int64_t offset = -low + (slack != 0 ? random_.Between(0, slack) : 0);
      if (guarded) {
        offset -= random_.Between(0, 3);
        extent = std::max<int64_t>(1, extent - random_.Between(0, 4));
        axis.offset = Maybe(offset);
        Guard g{axis, Size::Of(0), Maybe(extent), 1};
        if (random_.Chance(30)) {
          // Every mod-th element exists.
          g.mod = random_.Between(2, 3);
        }
        read.guard.push_back(g);
      } else {
        axis.offset = Maybe(offset);
      }
      read.at.push_back(axis);
      extents.push_back(extent);
    }
    const bool complex = options_.complex && (type == Type::kF32 || type == Type::kF64) && random_.Chance(30);
    read.buf = AddBuffer(random_.Chance(10) ? BufKind::kConst : BufKind::kArg,
                         complex ? (type == Type::kF32 ? Type::kC64 : Type::kC128) : type, extents);
    if (!read.guard.empty()) read.otherwise = Literal(type).v;
    return {b_.Read(read, complex ? static_cast<int>(random_.Below(2)) : 0), true};
  }

  // Adds an axis whose place data say, and which it is inside of whatever they say, or a guard besides. Its extent,
  // which is long for the first axis alone.
  int64_t PlaceByData(const std::vector<DimId>& dims, DimId along, kir::Read& read, bool first) {
    const Type type = random_.Pick(std::vector<Type>{Type::kS32, Type::kS32, Type::kS64, Type::kU32, Type::kU8,
                                                     Type::kS8, Type::kU16, Type::kS16, Type::kU64});
    std::vector<DimId> some;
    for (DimId d : dims) {
      if (random_.Chance(70)) some.push_back(d);
    }
    places_data_ = true;
    Val x = RandomRead(some, type).v;
    places_data_ = false;
    if (random_.Chance(40)) x = b_.Mul(x, b_.Const(type, random_.Between(2, 9)));
    if (random_.Chance(20)) x = b_.Add(x, b_.Convert(type, b_.Index(random_.Pick(dims))));
    int64_t extent = random_.Between(1, random_.Chance(60) || !first ? 20 : 120);
    const int64_t how = random_.Below(6);
    if (how == 0) {  // counted from the end
      x = b_.Select(b_.Compare(kLt, x, b_.Const(type, 0)), b_.Add(x, b_.Const(type, extent)), x);
    }
    if (how == 1) {
      extent = int64_t{1} << random_.Below(first ? 7 : 4);
      x = b_.And(x, b_.Const(type, extent - 1));
    } else if (how > 2) {
      x = b_.Min(b_.Max(x, b_.Const(type, 0)), b_.Const(type, extent - 1));
    }
    if (random_.Chance(30)) x = b_.Convert(random_.Chance(50) ? Type::kS64 : Type::kS32, x);
    Axis axis = AtStart(x);
    const bool inside = how > 2 || how == 1;
    if (random_.Chance(25)) {
      axis.terms.push_back({along, Size::Of(1)});
      if (inside) extent += std::max<int64_t>(extent_[along] - 1, 0);
    }
    if (!inside) read.guard.push_back({axis, Size::Of(0), Maybe(extent), 1});
    read.at.push_back(axis);
    return extent;
  }

  Value Literal(Type type) { return {b_.ConstBits(type, RandomValue(random_, type)), true}; }

  Value IndexAs(const std::vector<DimId>& dims, Type type) {
    const Val i = b_.Index(random_.Pick(dims));
    return {b_.Convert(type, i), true};
  }

  Value As(Type type, Value x) {
    if (b_.type(x.v) == type) return x;
    return {b_.Convert(type, x.v), !IsFloat(type)};
  }

  // A value of `type` from the pool, converted when there is none.
  Value Take(const Pool& pool, Type type) {
    std::vector<Value> fitting;
    for (const Value& x : pool) {
      if (b_.type(x.v) == type) fitting.push_back(x);
    }
    if (!fitting.empty() && !random_.Chance(15)) return random_.Pick(fitting);
    if (random_.Chance(20)) return Literal(type);
    return As(type, random_.Pick(pool));
  }

  Pool Leaves(const std::vector<DimId>& dims) {
    Pool pool;
    const int64_t reads = random_.Between(1, 3);
    for (int64_t i = 0; i < reads; ++i) pool.push_back(RandomRead(dims, random_.Pick(options_.types)));
    if (!dims.empty() && random_.Chance(25)) pool.push_back(IndexAs(dims, random_.Pick(options_.types)));
    return pool;
  }

  void Grow(Pool& pool, int64_t count) {
    for (int64_t i = 0; i < count; ++i) pool.push_back(RandomOperation(pool));
  }

  Value RandomOperation(const Pool& pool) {
    const Type type = random_.Pick(options_.types);
    if (random_.Chance(12)) {  // compare and select
      const Type compared = random_.Pick(options_.types);
      const Value x = Take(pool, compared), y = Take(pool, compared);
      const bool total = IsFloat(compared) && x.exact && y.exact && random_.Chance(25);
      const Val p = b_.Compare(static_cast<Cmp>(random_.Below(6)), x.v, y.v, total);
      const Value t = Take(pool, type), f = Take(pool, type);
      return {random_.Chance(20) ? b_.SelectRare(p, t.v, f.v) : b_.Select(p, t.v, f.v), t.exact && f.exact};
    }
    if (random_.Chance(8)) return As(type, random_.Pick(pool));
    if (type == Type::kPred) return Predicate(pool);
    return IsFloat(type) ? FloatOperation(pool, type) : IntOperation(pool, type);
  }

  Value Predicate(const Pool& pool) {
    const Value x = Take(pool, Type::kPred), y = Take(pool, Type::kPred);
    if (random_.Chance(15)) return {b_.Not(x.v), true};
    const Op op = random_.Pick(std::vector<Op>{Op::kAnd, Op::kOr, Op::kXor, Op::kAdd, Op::kMul, Op::kMin, Op::kMax});
    return {b_.Binary(op, x.v, y.v), true};
  }

  Value FloatOperation(const Pool& pool, Type type) {
    const bool wide = type == Type::kF32 || type == Type::kF64;
    const Value x = Take(pool, type), y = Take(pool, type), z = Take(pool, type);
    const int64_t how = random_.Below(100);
    if (how < 45) {
      return {b_.Binary(random_.Pick(std::vector<Op>{Op::kAdd, Op::kSub, Op::kMul, Op::kDiv, Op::kMin, Op::kMax}), x.v,
                        y.v),
              false};
    }
    if (how < 60 && wide) return {b_.Fma(x.v, y.v, z.v), false};
    if (how < 63 && options_.float_rem) return {b_.Rem(x.v, y.v), false};
    if (how < 70 && options_.math && wide) {
      std::vector<MathId> fitting;
      for (MathId id = 0; id < NumMath(); ++id) {
        if (MathGraph(id).arguments[0] == type) fitting.push_back(id);
      }
      if (!fitting.empty()) {
        const MathId id = random_.Pick(fitting);
        Node node{Op::kMath, type, 0, id, {}};
        node.in.push_back(x.v);
        if (MathGraph(id).arguments.size() == 2) node.in.push_back(y.v);
        return {b_.Emit(std::move(node)), false};
      }
    }
    if (how < 76) return {b_.Unary(random_.Chance(50) ? Op::kNeg : Op::kAbs, x.v), x.exact};
    if (how < 79) {
      const Type to = DTypeBits(type) == 64   ? Type::kS64
                      : DTypeBits(type) == 32 ? Type::kS32
                      : DTypeBits(type) == 16 ? Type::kS16
                                              : Type::kS8;
      const bool known = std::find(options_.types.begin(), options_.types.end(), to) != options_.types.end();
      if (known && x.exact && DTypeBits(type) == DTypeBits(to)) return {b_.Bitcast(to, x.v), true};
    }
    if (how < 83) return {b_.IsFinite(x.v), true};
    if (how < 86 && (wide || type == Type::kF16 || type == Type::kBF16)) {
      return {
          b_.ReducePrecision(x.v, static_cast<int>(random_.Between(2, 8)), static_cast<int>(random_.Between(1, 10))),
          false};
    }
    return {b_.Unary(random_.Pick(std::vector<Op>{Op::kSign, Op::kSqrt, Op::kFloor, Op::kCeil, Op::kRoundEven,
                                                  Op::kRoundAway, Op::kTrunc}),
                     x.v),
            false};
  }

  Value IntOperation(const Pool& pool, Type type) {
    const Value x = Take(pool, type), y = Take(pool, type);
    const int64_t how = random_.Below(100);
    if (how < 80) {
      return {b_.Binary(
                  random_.Pick(std::vector<Op>{Op::kAdd, Op::kSub, Op::kMul, Op::kDiv, Op::kRem, Op::kMin, Op::kMax,
                                               Op::kAnd, Op::kOr, Op::kXor, Op::kShl, Op::kShrLogical, Op::kShrArith}),
                  x.v, y.v),
              true};
    }
    if (how < 90 && IsSigned(type)) return {b_.Unary(random_.Chance(50) ? Op::kAbs : Op::kSign, x.v), true};
    return {b_.Unary(random_.Pick(std::vector<Op>{Op::kNeg, Op::kNot, Op::kClz, Op::kPopcnt}), x.v), true};
  }

  // Writes `x` at the point of `dims` to a buffer of its own.
  void StoreTo(Stage& stage, const std::vector<DimId>& dims, Value x) {
    std::vector<int64_t> extents;
    kir::Store store;
    for (DimId d : dims) {
      const bool reverse = random_.Chance(15);
      const int64_t step = random_.Chance(10) ? 2 : 1;
      const int64_t last = std::max<int64_t>(extent_[d] - 1, 0) * step;
      extents.push_back(last + 1);
      store.at.push_back(reverse ? At(d, Size::Of(-step), Maybe(last)) : At(d, Size::Of(step)));
    }
    const Type type = b_.type(x.v);
    const bool complex = options_.complex && (type == Type::kF32 || type == Type::kF64) && random_.Chance(30);
    store.buf = AddBuffer(BufKind::kOut, complex ? (type == Type::kF32 ? Type::kC64 : Type::kC128) : type, extents);
    store.value = x.v;
    if (!dims.empty() && random_.Chance(15)) {
      const DimId d = random_.Pick(dims);
      store.guard.push_back({At(d), Maybe(random_.Between(0, 2)),
                             Maybe(random_.Between(0, std::max<int64_t>(extent_[d], 1))), random_.Between(1, 2)});
    }
    stage.stores.push_back(store);
    if (complex) {
      store.component = 1;
      stage.stores.push_back(store);
    }
  }

  // `dims` and the outer ones: what runs in a stage.
  std::vector<DimId> WithOuter(const std::vector<DimId>& dims) const {
    std::vector<DimId> all = outer_;
    all.insert(all.end(), dims.begin(), dims.end());
    return all;
  }

  void SetDims(Stage& stage, const std::vector<DimId>& dims) {
    for (DimId d : dims) stage.dims.push_back(d);
  }

  // Kinds of kernels
  // -----------------------------------------------------------------------------------------------------------------------

  std::vector<DimId> NewDims(int64_t rank) {
    std::vector<DimId> dims;
    int64_t points = 1;
    for (int64_t i = 0; i < rank; ++i) {
      const bool is_long = options_.places && points < 64 && random_.Chance(50);
      dims.push_back(AddDim(i + 1 == rank ? VectorExtent() : random_.Between(1, is_long ? 40 : 5), DimKind::kParallel));
      points *= std::max<int64_t>(extent_[dims.back()], 1);
    }
    return dims;
  }

  void MaybeSplit(const std::vector<DimId>& first_inner, bool may_cut_inner) {
    int64_t count = b_.kernel().outer;
    if (may_cut_inner && random_.Chance(50) && !first_inner.empty())
      count += random_.Between(0, static_cast<int64_t>(first_inner.size()));
    if (count == 0 || random_.Chance(30)) return;
    b_.kernel().split = {(DimMask{1} << count) - 1, Maybe(random_.Between(1, 40))};
  }

  void Elementwise() {
    const std::vector<DimId> dims = NewDims(random_.Between(1, 3));
    Stage stage;
    SetDims(stage, dims);
    Pool pool = Leaves(WithOuter(dims));
    Grow(pool, random_.Between(1, options_.max_nodes));
    const int64_t stores = random_.Between(1, 2);
    for (int64_t i = 0; i < stores; ++i) StoreTo(stage, WithOuter(dims), i == 0 ? pool.back() : random_.Pick(pool));
    b_.AddStage(stage);
    MaybeSplit(dims, true);
  }

  // Two stages over disjoint boxes of the same dims, like a concatenation.
  void Boxes() {
    const std::vector<DimId> dims = NewDims(random_.Between(1, 2));
    const DimId cut = random_.Pick(dims);
    const int64_t at = random_.Between(0, extent_[cut]);
    const Type type = random_.Pick(options_.types);
    Stage first;
    SetDims(first, dims);
    StoreTo(first, WithOuter(dims), {Literal(type).v, true});
    Stage second = first;
    Pool one = Leaves(WithOuter(dims)), two = Leaves(WithOuter(dims));
    Grow(one, random_.Between(1, options_.max_nodes / 2));
    Grow(two, random_.Between(1, options_.max_nodes / 2));
    for (kir::Store& s : first.stores) s.value = As(type, one.back()).v;
    for (kir::Store& s : second.stores) s.value = As(type, two.back()).v;
    const Size middle = Maybe(at);
    first.domain.push_back({cut, Size::Of(0), middle});
    second.domain.push_back({cut, middle, b_.kernel().dims[cut].extent});
    b_.AddStage(first);
    b_.AddStage(second);
    MaybeSplit(dims, true);
  }

  // Stages that share nothing but what they read, each cut along a dim of its own.
  void NestsOfTheirOwn() {
    std::vector<DimId> first;
    for (int64_t n = random_.Between(2, 3); n > 0; --n) {
      const std::vector<DimId> dims = NewDims(random_.Between(1, 2));
      if (first.empty()) first = {dims[0]};
      Stage stage;
      SetDims(stage, dims);
      Pool pool = Leaves(WithOuter(dims));
      Grow(pool, random_.Between(1, options_.max_nodes / 2));
      StoreTo(stage, WithOuter(dims), pool.back());
      b_.AddStage(stage);
    }
    MaybeSplit(first, b_.kernel().outer == 0);
  }

  // Adds a reduction of a random kind over `x`; its result.
  Value AddReduction(Stage& stage, DimMask dims, Value x) {
    const Type type = b_.type(x.v);
    std::vector<Op> ops = {Op::kAdd, Op::kMul, Op::kMin, Op::kMax};
    if (!IsFloat(type)) ops.insert(ops.end(), {Op::kAnd, Op::kOr});
    const Op op = random_.Pick(ops);
    const uint64_t identity = IdentityBits(op, type).value_or(0);
    const bool lanes = random_.Chance(50);
    const Val v = b_.AddReduce(
        stage, dims, op, x.v, random_.Chance(50) ? b_.ConstBits(type, identity) : Literal(type).v,
        lanes ? ReduceOrder::kLanes : ReduceOrder::kSequential, lanes ? b_.ConstBits(type, identity) : kNone);
    return {v, !IsFloat(type)};
  }

  // (value, index) of the largest element, the first of equals: a combiner that is not a single operation.
  Value AddArgmax(Stage& stage, DimMask dims, Value x, DimId along) {
    const Type type = b_.type(x.v);
    GraphBuilder g({type, Type::kS64, type, Type::kS64});
    const Val a = g.Argument(0), ai = g.Argument(1), e = g.Argument(2), ei = g.Argument(3);
    const Val keep = g.Compare(kGe, a, e);
    Reduce r;
    r.id = b_.NewId();
    r.dims = dims;
    r.in = {x.v, b_.Index(along)};
    r.init = {b_.ConstBits(type, LowestBits(type)), b_.ConstS64(-1)};
    r.combiner = b_.AddGraph(g.Finish({g.Select(keep, a, e), g.Select(keep, ai, ei)}));
    stage.reduces.push_back(r);
    return {b_.Reduced(r.id, 1, Type::kS64), true};
  }

  // One result per point of the free dims.
  void FreeReduce() {
    std::vector<DimId> free;
    const int64_t rank = random_.Between(0, 2);
    for (int64_t i = 0; i < rank; ++i) free.push_back(AddDim(random_.Between(1, 6), DimKind::kParallel));
    std::vector<DimId> reduced;
    const int64_t reduced_rank = random_.Between(1, 2);
    for (int64_t i = 0; i < reduced_rank; ++i) {
      reduced.push_back(AddDim(i + 1 == reduced_rank ? VectorExtent() : random_.Between(1, 4), DimKind::kReduce));
    }
    std::vector<DimId> dims = free;
    dims.insert(dims.end(), reduced.begin(), reduced.end());
    DimMask mask = 0;
    for (DimId d : reduced) mask |= DimMask{1} << d;
    Stage stage;
    SetDims(stage, dims);
    Pool pool = Leaves(WithOuter(dims));
    Grow(pool, random_.Between(0, options_.max_nodes / 2));
    Pool results;
    results.push_back(AddReduction(stage, mask, pool.back()));
    if (random_.Chance(30)) results.push_back(AddReduction(stage, mask, random_.Pick(pool)));
    if (random_.Chance(25)) results.push_back(AddArgmax(stage, mask, random_.Pick(pool), reduced.back()));
    Grow(results, random_.Between(0, options_.max_nodes / 4));
    for (size_t i = 0; i < std::min<size_t>(results.size(), 3); ++i) StoreReduced(stage, WithOuter(free), results[i]);
    if (random_.Chance(20)) StoreTo(stage, WithOuter(dims), pool.back());
    b_.AddStage(stage);
    MaybeSplit(free, true);
  }

  // A store of something that may not be computed per reduced point: it is made to use the first reduction.
  void StoreReduced(Stage& stage, const std::vector<DimId>& dims, Value x) {
    const uint32_t id = stage.reduces[0].id;
    std::vector<bool> uses(b_.num_nodes(), false);
    for (Val v = 0; v < b_.num_nodes(); ++v) {
      const Node& n = b_.node(v);
      uses[v] = n.op == Op::kReduced && std::any_of(stage.reduces.begin(), stage.reduces.end(),
                                                    [&](const Reduce& r) { return r.id == n.attr; });
      for (Val in : n.in) uses[v] = uses[v] || uses[in];
    }
    if (!uses[x.v]) x = {b_.Reduced(id, 0, b_.type(stage.reduces[0].in[0])), false};
    StoreTo(stage, dims, x);
  }

  // Rows: reduce, then a second reduction over values kept in a local buffer, then a stage that uses both.
  void RowChain() {
    const int64_t n = VectorExtent();
    const DimId j = AddDim(n, DimKind::kReduce), c = AddDim(n, DimKind::kParallel);
    const Type type = random_.Pick(options_.types);
    const DimMask mask = DimMask{1} << j;
    Stage one;
    SetDims(one, {j});
    Pool row = Leaves(WithOuter({j}));
    Grow(row, random_.Between(0, options_.max_nodes / 3));
    const Value first = AddReduction(one, mask, row.back());
    b_.AddStage(one);

    const Buf local = AddBuffer(BufKind::kLocal, type, {n});
    Stage two;
    SetDims(two, {j});
    row.push_back(first);
    Grow(row, random_.Between(1, options_.max_nodes / 3));
    const Value kept = As(type, row.back());
    const Value second = AddReduction(two, mask, kept);
    kir::Store store;
    store.buf = local;
    store.at.push_back(At(j));
    store.value = kept.v;
    two.stores.push_back(store);
    b_.AddStage(two);

    Stage three;
    SetDims(three, {c});
    Pool last = Leaves(WithOuter({c}));
    last.push_back({b_.Read(local, {At(c)}), false});
    last.push_back(first);
    last.push_back(second);
    Grow(last, random_.Between(1, options_.max_nodes / 3));
    StoreTo(three, WithOuter({c}), last.back());
    b_.AddStage(three);
    MaybeSplit({}, false);
  }

  // Carries in registers, and at times a buffer that collects one of them.
  void CountedLoop() {
    Loop loop;
    loop.id = b_.NewId();
    Pool start = Leaves(outer_);
    const int64_t carries = random_.Between(1, 3);
    const int64_t trips = random_.Between(0, 20);
    loop.types.push_back(Type::kS64);
    loop.init.push_back(b_.ConstS64(0));
    for (int64_t i = 0; i < carries; ++i) {
      const Value x = random_.Pick(start);
      loop.types.push_back(b_.type(x.v));
      loop.init.push_back(x.v);
    }
    const Val counter = b_.Carried(loop.id, 0, Type::kS64);
    Pool body;
    body.push_back({counter, true});
    for (size_t i = 1; i < loop.types.size(); ++i) body.push_back({b_.Carried(loop.id, i, loop.types[i]), false});
    if (random_.Chance(40)) body.push_back(start.back());
    const Pool carried = body;
    Grow(body, random_.Between(1, options_.max_nodes / 2));
    loop.next.push_back(b_.Add(counter, b_.ConstS64(1)));
    for (size_t i = 1; i < loop.types.size(); ++i) loop.next.push_back(Take(body, loop.types[i]).v);
    if (random_.Chance(50)) {
      loop.condition = b_.Compare(kLt, counter, b_.ConstS64(trips));
    } else {
      loop.trip_count = Maybe(trips);
    }
    if (random_.Chance(40)) {
      Stage collect;
      std::vector<int64_t> extents;
      kir::Store store;
      for (DimId d : outer_) {
        extents.push_back(extent_[d]);
        store.at.push_back(At(d));
      }
      extents.push_back(std::max<int64_t>(trips, 1));
      store.at.push_back(AtStart(counter));
      store.value = carried[1].v;
      store.buf = AddBuffer(BufKind::kOut, b_.type(store.value), extents);
      collect.stores.push_back(store);
      loop.body.push_back(Step{collect});
    }
    b_.AddLoop(loop);
    Stage after;
    StoreTo(after, outer_, carried.back());
    StoreTo(after, outer_, carried[0]);
    b_.AddStage(after);
    MaybeSplit({}, false);
  }

  // A row that the stages of a loop read and write in turn.
  void RowLoop() {
    const int64_t n = VectorExtent();
    const DimId j = AddDim(n, DimKind::kParallel), r = AddDim(n, DimKind::kReduce);
    const Type type = random_.Pick(options_.types);
    const bool local = random_.Chance(50);
    std::vector<int64_t> extents;
    for (DimId d : local ? std::vector<DimId>() : outer_) extents.push_back(extent_[d]);
    extents.push_back(n);
    const Buf row = AddBuffer(local ? BufKind::kLocal : BufKind::kOut, type, extents);
    const auto at = [&](DimId along) {
      SmallVector<Axis, 4> axes;
      for (DimId d : local ? std::vector<DimId>() : outer_) axes.push_back(At(d));
      axes.push_back(At(along));
      return axes;
    };
    const auto write = [&](Value x) {
      Stage stage;
      SetDims(stage, {j});
      kir::Store store;
      store.buf = row;
      store.at = at(j);
      store.value = As(type, x).v;
      stage.stores.push_back(store);
      return stage;
    };
    Pool first = Leaves(WithOuter({j}));
    Grow(first, random_.Between(0, 3));
    b_.AddStage(write(first.back()));

    Loop loop;
    loop.id = b_.NewId();
    loop.types = {Type::kS64, type};
    loop.init = {b_.ConstS64(0), Literal(type).v};
    const Val counter = b_.Carried(loop.id, 0, Type::kS64), carried = b_.Carried(loop.id, 1, type);
    const int64_t trips = random_.Between(0, 6);
    Pool next{{carried, false}};
    for (int64_t stages = random_.Between(1, 3); stages > 0; --stages) {
      if (random_.Chance(40)) {
        Stage stage;
        SetDims(stage, {r});
        Pool pool = Leaves(WithOuter({r}));
        pool.push_back({b_.Read(row, at(r)), false});
        Grow(pool, random_.Between(0, 3));
        next.push_back(
            AddReduction(stage, DimMask{1} << r, random_.Chance(50) ? Value{b_.Read(row, at(r)), false} : pool.back()));
        loop.body.push_back(Step{stage});
      } else {
        Pool pool = Leaves(WithOuter({j}));
        pool.insert(pool.end(), next.begin(), next.end());
        pool.push_back({counter, true});
        pool.push_back({b_.Read(row, at(j)), false});
        Grow(pool, random_.Between(1, options_.max_nodes / 3));
        loop.body.push_back(Step{write(pool.back())});
      }
    }
    loop.next = {b_.Add(counter, b_.ConstS64(1)), As(type, next.back()).v};
    if (random_.Chance(50)) {
      loop.condition = b_.Compare(kLt, counter, b_.ConstS64(trips));
    } else {
      loop.trip_count = Maybe(trips);
    }
    b_.AddLoop(loop);

    Stage after;
    SetDims(after, {j});
    Pool last{{b_.Read(row, at(j)), false}, {carried, false}};
    Grow(last, random_.Between(0, 3));
    StoreTo(after, WithOuter({j}), last.back());
    b_.AddStage(after);
    MaybeSplit({}, false);
  }

  // out[index[i]] = combine(out[index[i]], value[i]), dropped where the index is out of range; or rows of such.
  void Scatter() {
    const DimId i = AddDim(VectorExtent(), DimKind::kSerial);
    std::vector<DimId> dims = {i};
    const std::vector<Type> index_types = {Type::kS32, Type::kS64};
    const Value raw = RandomRead(WithOuter(dims), random_.Pick(index_types));
    const bool rows = options_.places && random_.Chance(60);
    if (rows) dims.push_back(AddDim(VectorExtent(), DimKind::kParallel));
    const Type type = random_.Pick(options_.types);
    Pool pool = Leaves(WithOuter(dims));
    Grow(pool, random_.Between(0, options_.max_nodes / 3));
    const int64_t extent = random_.Between(1, 12);
    std::vector<int64_t> extents;
    kir::Store store;
    for (DimId d : outer_) {
      extents.push_back(extent_[d]);
      store.at.push_back(At(d));
    }
    extents.push_back(extent);
    store.at.push_back(AtStart(raw.v));
    if (rows) {
      extents.push_back(extent_[dims[1]]);
      store.at.push_back(At(dims[1]));
    }
    store.guard.push_back({AtStart(raw.v), Size::Of(0), Maybe(extent), 1});
    store.buf = AddBuffer(BufKind::kOut, type, extents);
    store.value = As(type, pool.back()).v;
    store.order = StoreOrder::kRowMajor;
    if (random_.Chance(60)) {
      store.combine = static_cast<int32_t>(
          b_.AddGraph(BinaryGraph(random_.Pick(std::vector<Op>{Op::kAdd, Op::kMul, Op::kMax}), type)));
    }
    Stage stage;
    SetDims(stage, dims);
    stage.stores.push_back(store);
    b_.AddStage(stage);
    MaybeSplit({}, false);
  }

  // Data
  // ---------------------------------------------------------------------------------------------------------------------------------

  Sample Finish() {
    Sample s;
    s.params = params_;
    s.kernel = b_.Finish();
    for (const Buffer& b : s.kernel.buffers) {
      Memory::Block block;
      if (b.kind != BufKind::kLocal) {
        block.present = true;
        const Type part = IsComplex(b.type) ? RealPartOf(b.type) : b.type;
        const int64_t width = ByteWidth(b.type), part_width = ByteWidth(part);
        int64_t elements = 1;
        for (size_t a = 0; a < b.extent.size(); ++a) {
          elements += std::max<int64_t>(b.extent[a].Value(s.params.data()) - 1, 0) * b.stride[a].Value(s.params.data());
        }
        const int64_t before = random_.Between(0, 9) * width;
        block.data = before;
        block.bytes.resize(static_cast<size_t>(before + elements * width + 64));
        for (int64_t at = 0; at + part_width <= static_cast<int64_t>(block.bytes.size()); at += part_width) {
          internal::StoreBits(part, RandomValue(random_, part), block.bytes.data() + at);
        }
      }
      s.memory.blocks.push_back(std::move(block));
    }
    return s;
  }

  Random random_;
  const RandomKernelOptions& options_;
  KernelBuilder b_;
  std::vector<int64_t> params_;
  std::vector<int64_t> extent_;  // of each dim
  std::vector<DimId> outer_;
  bool places_data_ = false;  ///< What is read says where something else is read.
};

}  // namespace

std::span<const RandomKernelSet> RandomKernelSets() {
  static const std::vector<RandomKernelSet>& sets = *new std::vector<RandomKernelSet>{
      {"UsualTypes", 0},
      {"NarrowTypesAndComplexBuffers",
       1000000,
       {.types = {DType::kF32, DType::kBF16, DType::kF16, DType::kS8, DType::kU16, DType::kS32, DType::kPred},
        .complex = true,
        .float_rem = true}},
      {"WithoutMathAndParams", 2000000, {.max_nodes = 12, .math = false, .params = false, .float_rem = true}},
      {"EightBitFloats",
       3000000,
       {.types = {DType::kF32, DType::kF8E4M3FN, DType::kF8E5M2, DType::kF8E4M3FNUZ, DType::kF8E5M2FNUZ,
                  DType::kF8E4M3B11FNUZ, DType::kF8E4M3, DType::kF8E3M4, DType::kS8, DType::kPred}}},
      {"IntegersNarrowerThanAByte",
       4000000,
       {.types = {DType::kF32, DType::kS4, DType::kU4, DType::kS8, DType::kU2, DType::kPred}}},
      {"PlacesFromData",
       5000000,
       {.types = {DType::kF32, DType::kF64, DType::kS32, DType::kU8, DType::kS64, DType::kPred},
        .max_nodes = 12,
        .places = true}},
      {"PlacesOfNarrowElements",
       6000000,
       {.types = {DType::kF32, DType::kBF16, DType::kF16, DType::kS8, DType::kS16, DType::kU16, DType::kU64,
                  DType::kU32},
        .max_nodes = 12,
        .complex = true,
        .params = false,
        .places = true}},
  };
  return sets;
}

std::vector<BufferRef> Memory::Refs() {
  std::vector<BufferRef> refs;
  for (Block& b : blocks) {
    refs.push_back(b.present ? BufferRef{b.bytes.data() + b.data, b.bytes.data() + b.data,
                                         static_cast<int64_t>(b.bytes.size()) - b.data - 64}
                             : BufferRef{});
  }
  return refs;
}

std::vector<void*> Memory::Pointers() {
  std::vector<void*> pointers;
  for (Block& b : blocks) pointers.push_back(b.present ? b.bytes.data() + b.data : nullptr);
  return pointers;
}

Sample RandomKernel(uint64_t seed, const RandomKernelOptions& options) { return Generator(seed, options).Run(); }

std::string FirstDifference(const Kernel& kernel, const std::vector<int64_t>& params, const Memory& got,
                            const Memory& wanted) {
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    const Buffer& b = kernel.buffers[i];
    const auto& g = got.blocks[i].bytes;
    const auto& w = wanted.blocks[i].bytes;
    if (g == w) continue;
    const DType part = IsComplex(b.type) ? RealPartOf(b.type) : b.type;
    const auto width = static_cast<size_t>(ByteWidth(part));
    for (size_t at = 0; at + width <= g.size(); at += width) {
      if (std::memcmp(g.data() + at, w.data() + at, width) == 0) continue;
      const uint64_t x = internal::LoadBits(part, g.data() + at), y = internal::LoadBits(part, w.data() + at);
      if (IsFloat(part) && std::isnan(LiteralValue(part, x)) && std::isnan(LiteralValue(part, y))) continue;
      uint64_t raw_x = 0, raw_y = 0;
      std::memcpy(&raw_x, g.data() + at, width);
      std::memcpy(&raw_y, w.data() + at, width);
      const int64_t offset = static_cast<int64_t>(at) - got.blocks[i].data;
      return fmt::format("b{} ({}) at byte {}, that is element {} of its data: got {:#x} ({}), wanted {:#x} ({})", i,
                         DTypeName(b.type), offset, static_cast<double>(offset) / ByteWidth(b.type), raw_x,
                         LiteralValue(part, x), raw_y, LiteralValue(part, y));
    }
  }
  return "";
}

}  // namespace tenon::kir::testing
