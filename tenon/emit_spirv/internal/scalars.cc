#include "tenon/emit_spirv/internal/scalars.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "tenon/base/f8.h"
#include "tenon/kir/builder.h"

namespace tenon::emit_spirv {

using kir::Op;

namespace {

int FloatBits(DType type) { return type == DType::kF64 ? 64 : 32; }
uint64_t OneBits(int bits) { return bits == 64 ? 0x3ff0000000000000 : 0x3f800000; }
uint64_t HalfBits(int bits) { return bits == 64 ? 0x3fe0000000000000 : 0x3f000000; }
uint64_t InfinityBits(int bits) { return bits == 64 ? 0x7ff0000000000000 : 0x7f800000; }

}  // namespace

int Scalars::RegisterBits(DType type) {
  if (type == DType::kPred) return 1;
  return DTypeBits(type) > 32 ? 64 : 32;
}

Id Scalars::RegisterType(DType type) {
  if (type == DType::kPred) return w_.Bool();
  if (IsComplex(type) || DTypeBits(type) == 0) {
    Fail(Unimplemented(fmt::format("values of type {}", DTypeName(type))));
    return w_.U32();
  }
  const int bits = RegisterBits(type);
  if (IsFloat(type)) {
    if (bits == 64 && !device_.f64) Fail(Unimplemented("the device has no f64"));
    return w_.Float(bits);
  }
  if (bits == 64 && !device_.i64) Fail(Unimplemented(fmt::format("the device has no {}", DTypeName(type))));
  return w_.Int(bits);
}

Id Scalars::MemoryType(DType type) {
  if (type == DType::kF32 || type == DType::kF64) return RegisterType(type);
  const int bits = 8 * ByteWidth(type);
  if (bits == 8 && !device_.storage8) Fail(Unimplemented("the device has no access to single bytes"));
  if (bits == 16 && !device_.storage16) Fail(Unimplemented("the device has no access to 16 bits"));
  if (bits == 64) return RegisterType(type);
  return w_.Int(bits);
}

// Compilers fold sums, products and quotients with zeros that they see against IEEE's rules, so they may not see any.
Id Scalars::ZeroWord(int bits) {
  Id& id = zeros_[{w_.function(), bits}];
  if (id != 0) return id;
  id = w_.AtStart([&] {
    const Id zero = I(Spv::ShiftRightLogical, w_.PushConstant(1), U(31));
    return bits == 64 ? w_.Do(Spv::UConvert, w_.U64(), {zero}) : zero;
  });
  return id;
}

Id Scalars::Zero(int bits, bool negative) { return AsFloat(bits, negative ? SignWord(bits) : ZeroWord(bits)); }

Id Scalars::SignWord(int bits) { return Int(bits, Spv::BitwiseOr, ZeroWord(bits), w_.CInt(bits, SignBit(bits))); }

Id Scalars::Magnitude(int bits, Id x) {
  const Id rest = w_.Do(Spv::Not, w_.Int(bits), {SignWord(bits)});
  return AsFloat(bits, Int(bits, Spv::BitwiseAnd, AsInt(bits, x), rest));
}

Id Scalars::Again(Id condition) {
  return Compare(Spv::IEqual, I(Spv::IAdd, Select(w_.U32(), condition, U(1), U(0)), ZeroWord(32)), U(1));
}

Id Scalars::Opaque(int bits, Id x) { return AsFloat(bits, Int(bits, Spv::BitwiseOr, AsInt(bits, x), ZeroWord(bits))); }

Id Scalars::Literal(DType type, uint64_t bits) {
  const Id id = LiteralValue(type, bits);
  constants_.insert({w_.function(), id});
  return id;
}

Id Scalars::LiteralValue(DType type, uint64_t bits) {
  if (type == DType::kPred) return w_.CBool(bits & 1);
  RegisterType(type);
  if (!status_.ok()) return U(0);
  if (type == DType::kF32 || type == DType::kF64) {
    const int width = FloatBits(type);
    if ((bits & ~SignBit(width)) == 0) return Zero(width, bits != 0);
    return w_.CFloat(width, bits);
  }
  if (IsFloat(type)) {
    const auto value = static_cast<float>(kir::LiteralValue(type, bits));
    if (value != value) return FromBits(type, U(static_cast<uint32_t>(bits)));
    const auto wide = std::bit_cast<uint32_t>(value);
    return value == 0 ? Zero(32, wide != 0) : w_.CFloat(32, wide);
  }
  const int width = DTypeBits(type);
  if (width < 32) {
    bits &= (uint64_t{1} << width) - 1;
    if (IsSigned(type) && (bits >> (width - 1)) != 0) bits |= ~((uint64_t{1} << width) - 1);
  }
  return w_.CInt(RegisterBits(type), bits);
}

Id Scalars::FromLocal(DType type, Id word) { return type == DType::kPred ? Compare(Spv::INotEqual, word, U(0)) : word; }

Id Scalars::ToLocal(DType type, Id value) { return type == DType::kPred ? Select(w_.U32(), value, U(1), U(0)) : value; }

Id Scalars::Wide(DType type, Id value) {
  if (RegisterBits(type) == 64) return value;
  if (!IsSigned(type)) return w_.Do(Spv::UConvert, w_.U64(), {value});
  return SignExtend(value);
}

// Of two words: some compilers narrow comparisons of what SConvert gives, and get them wrong.
Id Scalars::SignExtend(Id word) {
  const Id pair =
      w_.Do(Spv::CompositeConstruct, w_.Vector(w_.U32(), 2), {word, I(Spv::ShiftRightArithmetic, word, U(31))});
  return w_.Do(Spv::Bitcast, w_.U64(), {pair});
}

Id Scalars::Low(DType type, Id value) {
  return RegisterBits(type) == 64 ? w_.Do(Spv::UConvert, w_.U32(), {value}) : value;
}

Id Scalars::Wrap(DType type, Id x) {
  const int bits = DTypeBits(type);
  if (bits >= 32) return x;
  if (!IsSigned(type)) return I(Spv::BitwiseAnd, x, U((1u << bits) - 1));
  const Id up = U(static_cast<uint32_t>(32 - bits));
  return I(Spv::ShiftRightArithmetic, I(Spv::ShiftLeftLogical, x, up), up);
}

Id Scalars::Lower(const kir::Node& node, DType in_type, std::span<const Id> in) {
  RegisterType(in_type);
  RegisterType(node.type);
  if (!status_.ok()) return U(0);
  const bool constant = std::ranges::all_of(in, [&](Id id) { return IsConstant(id); });
  Id v = LowerOperation(node, in_type, in);
  if (!constant) return v;
  // What follows from constants alone may come out as a zero.
  if (IsFloat(node.type)) v = Opaque(FloatBits(node.type), v);
  constants_.insert({w_.function(), v});
  return v;
}

Id Scalars::LowerOperation(const kir::Node& node, DType in_type, std::span<const Id> in) {
  const Id type = RegisterType(node.type);
  switch (node.op) {
    case Op::kCompare:
      return CompareValues(node.imm, in_type, in[0], in[1]);
    case Op::kSelect:
      return Select(type, in[0], in[1], in[2]);
    case Op::kConvert:
      return Convert(in_type, node.type, in[0]);
    case Op::kBitcast:
      return in_type == node.type ? in[0] : FromBits(node.type, ToBits(in_type, in[0]));
    case Op::kReducePrecision:
      return ReducePrecision(node.type, node.attr, in[0]);
    case Op::kIsFinite: {
      const int bits = FloatBits(in_type);
      const Id magnitude = Int(bits, Spv::BitwiseAnd, AsInt(bits, in[0]), w_.CInt(bits, SignBit(bits) - 1));
      return Compare(Spv::ULessThan, magnitude, w_.CInt(bits, InfinityBits(bits)));
    }
    default:
      break;
  }
  if (node.type == DType::kPred) return Pred(node, in);
  return IsFloat(node.type) ? Float(node, in) : Integer(node, in);
}

Id Scalars::Float(const kir::Node& node, std::span<const Id> in) {
  const int bits = FloatBits(node.type);
  const Id type = w_.Float(bits);
  Id v = 0;
  switch (node.op) {
    case Op::kAdd:
      v = F(bits, Spv::FAdd, in[0], in[1]);
      break;
    case Op::kSub:
      v = F(bits, Spv::FSub, in[0], in[1]);
      break;
    case Op::kMul:
      v = F(bits, Spv::FMul, in[0], in[1]);
      break;
    case Op::kDiv:
      v = FloatDivide(bits, in[0], in[1]);
      break;
    case Op::kRem: {
      const Id args[] = {in[0], in[1]};
      v = w_.Call(FloatRemainder(bits), type, args);
      break;
    }
    case Op::kFma:
      v = Fma(bits, in[0], in[1], in[2], node.imm == kir::kExactProduct);
      break;
    case Op::kSqrt:
      v = FloatSqrt(bits, in[0]);
      break;
    case Op::kFloor:
    case Op::kCeil:
    case Op::kTrunc:
    case Op::kRoundEven:
    case Op::kRoundAway:
      v = RoundToWhole(node.op, bits, in[0]);
      break;
    case Op::kMin:
    case Op::kMax:
      return FloatMinMax(bits, node.op == Op::kMax, in[0], in[1]);
    case Op::kSign:
      return FloatSign(bits, in[0]);
    case Op::kNeg:
      v = AsFloat(bits, Int(bits, Spv::BitwiseXor, AsInt(bits, in[0]), SignWord(bits)));
      return HasNegativeZero(node.type) ? v : RoundTo(node.type, v);
    case Op::kAbs:
      return Magnitude(bits, in[0]);
    default:
      Fail(Unimplemented(fmt::format("{} of {}", kir::OpName(node.op), DTypeName(node.type))));
      return in[0];
  }
  return IsNarrowFloat(node.type) ? RoundTo(node.type, v) : v;
}

Id Scalars::FloatMinMax(int bits, bool max, Id a, Id b) {
  const Id type = w_.Float(bits);
  // Equal numbers differ in the sign of zero at most.
  const Id same = AsFloat(bits, Int(bits, max ? Spv::BitwiseAnd : Spv::BitwiseOr, AsInt(bits, a), AsInt(bits, b)));
  const Id a_first = FCompare(max ? Spv::FOrdGreaterThan : Spv::FOrdLessThan, a, b);
  Id v = Select(type, FCompare(Spv::FOrdEqual, a, b), same, b);
  v = Select(type, a_first, a, v);
  return Select(type, FCompare(Spv::FUnordNotEqual, a, a), a, v);  // where b is NaN, no comparison holds
}

Id Scalars::FloatSign(int bits, Id x) {
  const Id type = w_.Float(bits);
  const Id i = AsInt(bits, x);
  const Id one = Int(bits, Spv::BitwiseOr, Int(bits, Spv::BitwiseAnd, i, w_.CInt(bits, SignBit(bits))),
                     w_.CInt(bits, OneBits(bits)));
  const Id magnitude = Int(bits, Spv::BitwiseAnd, i, w_.CInt(bits, SignBit(bits) - 1));
  const Id zero = Compare(Spv::IEqual, magnitude, w_.CInt(bits, 0));
  const Id nan = Compare(Spv::UGreaterThan, magnitude, w_.CInt(bits, InfinityBits(bits)));
  const Id itself = w_.Do(Spv::LogicalOr, w_.Bool(), {zero, nan});
  return Select(type, itself, x, AsFloat(bits, one));
}

// The whole number next to x on the side of zero.
Id Scalars::Truncate(int bits, Id x) {
  if (bits == 32) return w_.Glsl(spv::GlslTrunc, w_.Float(32), {x});
  // Drivers that lack an instruction for f64 go through narrower integers: the bits of the fraction are cleared here.
  constexpr uint64_t kBias = 1023, kFractionBits = 52;
  const Id type = w_.Int(64), word = AsInt(64, x);
  const auto c = [&](uint64_t value) { return w_.CInt(64, value); };
  const Id exponent =
      Int(64, Spv::BitwiseAnd, Int(64, Spv::ShiftRightLogical, word, c(kFractionBits)), c(2 * kBias + 1));
  const Id left = Int(64, Spv::BitwiseAnd, Int(64, Spv::ISub, c(kBias + kFractionBits), exponent), c(63));
  const Id kept = Int(64, Spv::BitwiseAnd, word, Int(64, Spv::ShiftLeftLogical, c(~uint64_t{0}), left));
  const Id small = Compare(Spv::ULessThan, exponent, c(kBias));
  const Id whole = Compare(Spv::UGreaterThanEqual, exponent, c(kBias + kFractionBits));
  return AsFloat(64, Select(type, whole, word, Select(type, small, c(0), kept)));
}

// Ties and signs are settled here: drivers without an instruction round ties away from zero, and give +0 for -0.
Id Scalars::RoundToWhole(Op op, int bits, Id x) {
  const Id type = w_.Float(bits);
  const Id sign = Int(bits, Spv::BitwiseAnd, AsInt(bits, x), w_.CInt(bits, SignBit(bits)));
  const Id whole = Truncate(bits, x);
  Id v = whole;
  if (op != Op::kTrunc) {
    const Id one = AsFloat(bits, Int(bits, Spv::BitwiseOr, sign, w_.CInt(bits, OneBits(bits))));
    const Id half = w_.CFloat(bits, HalfBits(bits));
    const Id rest = F(bits, Spv::FSub, x, whole);  // exact
    const Id size = Magnitude(bits, rest);
    Id away = 0;
    if (op == Op::kFloor) {
      away = FCompare(Spv::FOrdLessThan, x, whole);
    } else if (op == Op::kCeil) {
      away = FCompare(Spv::FOrdGreaterThan, x, whole);
    } else if (op == Op::kRoundAway) {
      away = FCompare(Spv::FOrdGreaterThanEqual, size, half);
    } else {
      const Id halved = F(bits, Spv::FMul, whole, half);  // exact
      const Id odd = FCompare(Spv::FUnordNotEqual, halved, Truncate(bits, halved));
      const Id tie = And(FCompare(Spv::FOrdEqual, size, half), odd);
      away = w_.Do(Spv::LogicalOr, w_.Bool(), {FCompare(Spv::FOrdGreaterThan, size, half), tie});
    }
    v = Select(type, away, F(bits, Spv::FAdd, whole, one), whole);
  }
  return AsFloat(bits, Int(bits, Spv::BitwiseOr, AsInt(bits, v), sign));
}

Id Scalars::Integer(const kir::Node& node, std::span<const Id> in) {
  const DType type = node.type;
  const int bits = RegisterBits(type);
  const auto op = [&](Spv o) { return Wrap(type, Int(bits, o, in[0], in[1])); };
  const Id zero = w_.CInt(bits, 0), minus_one = w_.CInt(bits, ~uint64_t{0});
  switch (node.op) {
    case Op::kAdd:
      return op(Spv::IAdd);
    case Op::kSub:
      return op(Spv::ISub);
    case Op::kMul:
      return op(Spv::IMul);
    case Op::kDiv:
    case Op::kRem:
      return Divide(type, node.op == Op::kRem, in[0], in[1]);
    case Op::kMin:
    case Op::kMax: {
      const Id less = Compare(IsSigned(type) ? Spv::SLessThan : Spv::ULessThan, in[0], in[1]);
      const bool min = node.op == Op::kMin;
      return Select(w_.Int(bits), less, in[min ? 0 : 1], in[min ? 1 : 0]);
    }
    case Op::kNeg:
      return Wrap(type, Int(bits, Spv::ISub, zero, in[0]));
    case Op::kAbs: {
      if (!IsSigned(type)) return in[0];
      const Id negative = Compare(Spv::SLessThan, in[0], zero);
      return Wrap(type, Select(w_.Int(bits), negative, Int(bits, Spv::ISub, zero, in[0]), in[0]));
    }
    case Op::kSign: {
      const Id some = Select(w_.Int(bits), Compare(Spv::INotEqual, in[0], zero), w_.CInt(bits, 1), zero);
      if (!IsSigned(type)) return some;
      return Select(w_.Int(bits), Compare(Spv::SLessThan, in[0], zero), minus_one, some);
    }
    case Op::kAnd:
      return Int(bits, Spv::BitwiseAnd, in[0], in[1]);
    case Op::kOr:
      return Int(bits, Spv::BitwiseOr, in[0], in[1]);
    case Op::kXor:
      return Int(bits, Spv::BitwiseXor, in[0], in[1]);
    case Op::kNot:
      return Wrap(type, w_.Do(Spv::Not, w_.Int(bits), {in[0]}));
    case Op::kShl:
    case Op::kShrLogical:
    case Op::kShrArith:
      return Shift(node, in[0], in[1]);
    case Op::kClz:
      return Clz(type, in[0]);
    case Op::kPopcnt:
      return Popcount(type, in[0]);
    default:
      Fail(Unimplemented(fmt::format("{} of {}", kir::OpName(node.op), DTypeName(type))));
      return in[0];
  }
}

Id Scalars::Pred(const kir::Node& node, std::span<const Id> in) {
  const auto op = [&](Spv o) { return w_.Do(o, w_.Bool(), {in[0], in[1]}); };
  switch (node.op) {
    case Op::kAdd:
    case Op::kMax:
    case Op::kOr:
      return op(Spv::LogicalOr);
    case Op::kMul:
    case Op::kMin:
    case Op::kAnd:
      return op(Spv::LogicalAnd);
    case Op::kSub:
    case Op::kXor:
      return op(Spv::LogicalNotEqual);
    case Op::kNot:
      return w_.Do(Spv::LogicalNot, w_.Bool(), {in[0]});
    default:
      Fail(Unimplemented(fmt::format("{} of pred", kir::OpName(node.op))));
      return in[0];
  }
}

Id Scalars::Divide(DType type, bool remainder, Id a, Id b) {
  const int bits = RegisterBits(type);
  const Id t = w_.Int(bits), one = w_.CInt(bits, 1), all = w_.CInt(bits, ~uint64_t{0});
  const Id by_zero = Compare(Spv::IEqual, b, w_.CInt(bits, 0));
  Id bad = by_zero;
  if (IsSigned(type) && DTypeBits(type) >= 32) {
    const Id lowest = Compare(Spv::IEqual, a, w_.CInt(bits, SignBit(bits)));
    bad = w_.Do(Spv::LogicalOr, w_.Bool(), {bad, And(lowest, Compare(Spv::IEqual, b, all))});
  }
  // MIN / -1 = MIN and MIN % -1 = 0 come out as those by 1.
  const Id divisor = Select(t, bad, one, b);
  const Id quotient = Int(bits, IsSigned(type) ? Spv::SDiv : Spv::UDiv, a, divisor);
  if (!remainder) return Wrap(type, Select(t, by_zero, all, quotient));
  return Wrap(type, Select(t, by_zero, a, Int(bits, Spv::ISub, a, Int(bits, Spv::IMul, quotient, divisor))));
}

Id Scalars::Shift(const kir::Node& node, Id x, Id amount) {
  const DType type = node.type;
  const int bits = RegisterBits(type), width = DTypeBits(type);
  const Id t = w_.Int(bits);
  const uint64_t mask = width < 32 ? (uint64_t{1} << width) - 1 : ~uint64_t{0};
  if (IsSigned(type) && width < 32) amount = Int(bits, Spv::BitwiseAnd, amount, w_.CInt(bits, mask));
  const Id in_range = Compare(Spv::ULessThan, amount, w_.CInt(bits, static_cast<uint64_t>(width)));
  if (node.op == Op::kShrArith) {
    if (!IsSigned(type) && width < 32) {  // the sign of an unsigned narrow integer is its own top bit
      const Id up = U(static_cast<uint32_t>(32 - width));
      x = I(Spv::ShiftRightArithmetic, I(Spv::ShiftLeftLogical, x, up), up);
    }
    const Id by = Select(t, in_range, amount, w_.CInt(bits, static_cast<uint64_t>(width - 1)));
    return Wrap(type, Int(bits, Spv::ShiftRightArithmetic, x, by));
  }
  const Id zero = w_.CInt(bits, 0);
  const Id by = Select(t, in_range, amount, zero);
  Id v = 0;
  if (node.op == Op::kShl) {
    v = Int(bits, Spv::ShiftLeftLogical, x, by);
  } else {
    if (IsSigned(type) && width < 32) x = Int(bits, Spv::BitwiseAnd, x, w_.CInt(bits, mask));
    v = Int(bits, Spv::ShiftRightLogical, x, by);
  }
  return Wrap(type, Select(t, in_range, v, zero));
}

Id Scalars::Clz(DType type, Id x) {
  const int width = DTypeBits(type);
  // 31 - (the place of the highest one, -1 for none).
  const auto clz32 = [&](Id v) { return I(Spv::ISub, U(31), w_.Glsl(spv::GlslFindUMsb, w_.U32(), {v})); };
  if (width == 64) {
    const Id high = w_.Do(Spv::UConvert, w_.U32(), {Int(64, Spv::ShiftRightLogical, x, w_.C64(32))});
    const Id low = w_.Do(Spv::UConvert, w_.U32(), {x});
    const Id none = Compare(Spv::IEqual, high, U(0));
    const Id count = Select(w_.U32(), none, I(Spv::IAdd, clz32(low), U(32)), clz32(high));
    return w_.Do(Spv::UConvert, w_.U64(), {count});
  }
  if (width < 32) x = I(Spv::BitwiseAnd, x, U((1u << width) - 1));
  return Wrap(type, I(Spv::ISub, clz32(x), U(static_cast<uint32_t>(32 - width))));
}

Id Scalars::Popcount(DType type, Id x) {
  const int width = DTypeBits(type);
  const auto count32 = [&](Id v) { return w_.Do(Spv::BitCount, w_.U32(), {v}); };
  if (width == 64) {
    const Id high = w_.Do(Spv::UConvert, w_.U32(), {Int(64, Spv::ShiftRightLogical, x, w_.C64(32))});
    const Id low = w_.Do(Spv::UConvert, w_.U32(), {x});
    return w_.Do(Spv::UConvert, w_.U64(), {I(Spv::IAdd, count32(high), count32(low))});
  }
  if (width < 32) x = I(Spv::BitwiseAnd, x, U((1u << width) - 1));
  return Wrap(type, count32(x));
}

Id Scalars::CompareValues(uint8_t how, DType type, Id a, Id b) {
  const int cmp = how & 0xf;
  if (type == DType::kPred) {
    // false < true
    a = ToLocal(type, a);
    b = ToLocal(type, b);
  } else if (IsFloat(type) && (how & kir::kTotalOrder) == 0) {
    constexpr Spv kFloat[] = {Spv::FOrdEqual,         Spv::FUnordNotEqual,  Spv::FOrdLessThan,
                              Spv::FOrdLessThanEqual, Spv::FOrdGreaterThan, Spv::FOrdGreaterThanEqual};
    return FCompare(kFloat[cmp], a, b);
  }
  bool is_signed = IsSigned(type);
  if (IsFloat(type)) {
    // Flipping the magnitude bits of negative numbers makes their bits compare as signed integers in total order.
    const int bits = FloatBits(type);
    const std::optional<F8Format> f8 = F8FormatOf(type);
    const auto key = [&](Id v) {
      Id i = AsInt(bits, v);
      // Where one pattern is NaN, it is that of a negative zero, and stands in its place.
      if (f8 && f8->special == F8Format::Special::kOneNan) {
        const Id magnitude = Int(bits, Spv::BitwiseAnd, i, w_.CInt(bits, ~SignBit(bits)));
        const Id is_nan = Compare(Spv::UGreaterThan, magnitude, w_.CInt(bits, InfinityBits(bits)));
        i = Select(w_.U32(), is_nan, w_.CInt(bits, SignBit(bits)), i);
      }
      const Id sign = Int(bits, Spv::ShiftRightArithmetic, i, w_.CInt(bits, static_cast<uint64_t>(bits - 1)));
      return Int(bits, Spv::BitwiseXor, i, Int(bits, Spv::ShiftRightLogical, sign, w_.CInt(bits, 1)));
    };
    a = key(a);
    b = key(b);
    is_signed = true;
  }
  constexpr Spv kSigned[] = {Spv::IEqual,         Spv::INotEqual,    Spv::SLessThan,
                             Spv::SLessThanEqual, Spv::SGreaterThan, Spv::SGreaterThanEqual};
  constexpr Spv kUnsigned[] = {Spv::IEqual,         Spv::INotEqual,    Spv::ULessThan,
                               Spv::ULessThanEqual, Spv::UGreaterThan, Spv::UGreaterThanEqual};
  return Compare((is_signed ? kSigned : kUnsigned)[cmp], a, b);
}

}  // namespace tenon::emit_spirv
