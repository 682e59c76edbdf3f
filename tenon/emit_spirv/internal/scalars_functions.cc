// Operations that devices do not round as kernels say, made of those that they do: functions of the module.
#include <fmt/format.h>

#include <bit>

#include "tenon/emit_spirv/internal/scalars.h"

namespace tenon::emit_spirv {
namespace {

/// Keys of functions_.
enum Function : int { kFmaByF64, kFmaOfF64, kRemainder32, kRemainder64 };

}  // namespace

// Halves of a number's bits have exact products (Veltkamp, Dekker); then the sum's own error.
Id Scalars::AddProduct(int bits, Id a, Id b, Id c) {
  const Id type = w_.Float(bits);
  const auto op = [&](Spv o, Id x, Id y) { return w_.Exact(o, type, {x, y}); };
  struct Halves {
    Id high, low;
  };
  const auto halves = [&](Id v) {
    const Id scaled =
        op(Spv::FMul, v,
           w_.CFloat(bits, bits == 64 ? std::bit_cast<uint64_t>(0x1p27 + 1) : std::bit_cast<uint32_t>(0x1p12f + 1)));
    const Id high = op(Spv::FSub, scaled, op(Spv::FSub, scaled, v));
    return Halves{high, op(Spv::FSub, v, high)};
  };
  const Halves x = halves(a), y = halves(b);
  const Id product = op(Spv::FMul, a, b);
  Id low = op(Spv::FSub, op(Spv::FMul, x.high, y.high), product);
  low = op(Spv::FAdd, op(Spv::FAdd, low, op(Spv::FMul, x.high, y.low)), op(Spv::FMul, x.low, y.high));
  low = op(Spv::FAdd, low, op(Spv::FMul, x.low, y.low));
  const Id sum = op(Spv::FAdd, product, c), part = op(Spv::FSub, sum, product);
  const Id lost = op(Spv::FAdd, op(Spv::FSub, product, op(Spv::FSub, sum, part)), op(Spv::FSub, c, part));
  const Id rest = op(Spv::FAdd, lost, low), known = Compare(Spv::FOrdEqual, rest, rest);
  // Beyond the range of halves there is nothing to add.
  return op(Spv::FAdd, sum, Select(type, known, rest, w_.CFloat(bits, uint64_t{1} << (bits - 1))));
}

Id Scalars::Fma(int bits, Id a, Id b, Id c, bool exact_product) {
  const bool fused = bits == 64 ? device_.fused_f64 : device_.fused_f32;
  const Id type = w_.Float(bits);
  // Drivers multiply two constants beforehand, rounding once more.
  if (fused && IsConstant(a) && IsConstant(b)) a = Opaque(bits, a);
  if (fused) return w_.Glsl(spv::GlslFma, type, {a, b, c});
  // A target without fused multiply-add rounds twice wherever a kernel asks for it.
  if (!target_.numerics.fused_multiply_add && exact_product) return AddProduct(bits, a, b, c);
  if (!target_.numerics.fused_multiply_add) return F(bits, Spv::FAdd, F(bits, Spv::FMul, a, b), c);
  if (bits == 32 && !device_.f64) {
    Fail(Unimplemented("the device neither fuses a multiply-add of f32 nor has f64 to make one of"));
    return a;
  }
  const Id args[] = {a, b, c};
  return w_.Call(bits == 64 ? FmaOfF64() : FmaByF64(), type, args);
}

// a*b + c rounded once: the product is exact in f64, the sum is rounded to odd, and the conversion rounds once more.
Id Scalars::FmaByF64() {
  Id& id = functions_[kFmaByF64];
  if (id != 0) return id;
  const Id f32 = w_.Float(32), f64 = w_.Float(64), u64 = w_.U64();
  std::vector<Id> p;
  const Id types[] = {f32, f32, f32};
  id = w_.BeginFunction(f32, types, &p);
  const auto widen = [&](Id x) { return w_.Exact(Spv::FConvert, f64, {x}); };
  const auto op = [&](Spv o, Id x, Id y) { return w_.Exact(o, f64, {x, y}); };
  const Id product = op(Spv::FMul, widen(p[0]), widen(p[1])), c = widen(p[2]);
  const Id sum = op(Spv::FAdd, product, c), v = op(Spv::FSub, sum, product);
  // sum + error == product + c
  const Id error = op(Spv::FAdd, op(Spv::FSub, product, op(Spv::FSub, sum, v)), op(Spv::FSub, c, v));
  const Id s = AsInt(64, sum), e = AsInt(64, error);
  const auto i64 = [&](Spv o, Id x, Id y) { return w_.Do(o, u64, {x, y}); };
  const Id magnitude = w_.C64(~(uint64_t{1} << 63)), one = w_.C64(1), zero = w_.C64(0);
  const Id inexact = Compare(Spv::INotEqual, i64(Spv::BitwiseAnd, e, magnitude), zero);
  const Id finite = Compare(Spv::ULessThan, i64(Spv::BitwiseAnd, s, magnitude), w_.C64(0x7ff0000000000000));
  const Id even = Compare(Spv::IEqual, i64(Spv::BitwiseAnd, s, one), zero);
  const Id toward_zero = Compare(Spv::SLessThan, i64(Spv::BitwiseXor, s, e), zero);
  const Id odd = Select(u64, toward_zero, i64(Spv::ISub, s, one), i64(Spv::IAdd, s, one));
  const Id rounded = Select(u64, And(inexact, And(even, finite)), odd, s);
  w_.EndFunction(w_.Exact(Spv::FConvert, f32, {AsFloat(64, rounded)}));
  return id;
}

// a*b + c rounded once, in integers: both summands as 128 bits with their highest one at bit 125, the smaller one
// shifted, what falls off kept as one bit below.
Id Scalars::FmaOfF64() {
  Id& id = functions_[kFmaOfF64];
  if (id != 0) return id;
  const Id f64 = w_.Float(64), u64 = w_.U64();
  std::vector<Id> p;
  const Id types[] = {f64, f64, f64};
  id = w_.BeginFunction(f64, types, &p);
  const auto i = [&](Spv o, Id x, Id y) { return w_.Do(o, u64, {x, y}); };
  const auto c = [&](uint64_t v) { return w_.C64(v); };
  const auto pick = [&](Id condition, Id yes, Id no) { return Select(u64, condition, yes, no); };
  const Id zero = c(0), one = c(1);
  struct Pair {
    Id hi, lo;
  };
  const auto left = [&](Pair x, Id n) {  // by 0 ... 127
    const Id far = Compare(Spv::UGreaterThanEqual, n, c(64)), m = i(Spv::BitwiseAnd, n, c(63));
    const Id carried = i(Spv::ShiftRightLogical, i(Spv::ShiftRightLogical, x.lo, one), i(Spv::ISub, c(63), m));
    const Id near_hi = i(Spv::BitwiseOr, i(Spv::ShiftLeftLogical, x.hi, m), carried);
    const Id low = i(Spv::ShiftLeftLogical, x.lo, m);
    return Pair{pick(far, low, near_hi), pick(far, zero, low)};
  };
  const auto right = [&](Pair x, Id n) {  // by any number, what is lost as lowest bit
    n = pick(Compare(Spv::UGreaterThan, n, c(127)), c(127), n);
    const Id far = Compare(Spv::UGreaterThanEqual, n, c(64)), m = i(Spv::BitwiseAnd, n, c(63));
    const Id up = i(Spv::ISub, c(63), m);
    const auto off = [&](Id v) { return i(Spv::ShiftLeftLogical, i(Spv::ShiftLeftLogical, v, one), up); };
    const Id high = i(Spv::ShiftRightLogical, x.hi, m);
    const Id low = i(Spv::BitwiseOr, i(Spv::ShiftRightLogical, x.lo, m), off(x.hi));
    const Id lost = pick(far, i(Spv::BitwiseOr, x.lo, off(x.hi)), off(x.lo));
    const Id jam = pick(Compare(Spv::INotEqual, lost, zero), one, zero);
    return Pair{pick(far, zero, high), i(Spv::BitwiseOr, pick(far, high, low), jam)};
  };
  const auto clz64 = [&](Id x) { return Clz(DType::kU64, x); };
  const auto clz128 = [&](Pair x) {
    return pick(Compare(Spv::IEqual, x.hi, zero), i(Spv::IAdd, clz64(x.lo), c(64)), clz64(x.hi));
  };

  const Id a = AsInt(64, p[0]), b = AsInt(64, p[1]), d = AsInt(64, p[2]);
  const auto exponent = [&](Id x) { return i(Spv::BitwiseAnd, i(Spv::ShiftRightLogical, x, c(52)), c(0x7ff)); };
  const auto mantissa = [&](Id x) {
    const Id m = i(Spv::BitwiseAnd, x, c((uint64_t{1} << 52) - 1));
    const Id normal = Compare(Spv::INotEqual, exponent(x), zero);
    return i(Spv::BitwiseOr, m, pick(normal, c(uint64_t{1} << 52), zero));
  };
  const auto power = [&](Id x) {  // of the mantissa's last place, biased by 1075
    const Id e = exponent(x);
    return pick(Compare(Spv::IEqual, e, zero), one, e);
  };
  const Id ma = mantissa(a), mb = mantissa(b), mc = mantissa(d);
  const auto is_special = [&](Id x) { return Compare(Spv::IEqual, exponent(x), c(0x7ff)); };
  const auto either = [&](Id x, Id y) { return w_.Do(Spv::LogicalOr, w_.Bool(), {x, y}); };

  // The product: 53 x 53 bits.
  const Id low32 = c(0xffffffff), by32 = c(32);
  const Id al = i(Spv::BitwiseAnd, ma, low32), ah = i(Spv::ShiftRightLogical, ma, by32);
  const Id bl = i(Spv::BitwiseAnd, mb, low32), bh = i(Spv::ShiftRightLogical, mb, by32);
  const Id ll = i(Spv::IMul, al, bl), hh = i(Spv::IMul, ah, bh);
  const Id middle =
      i(Spv::IAdd, i(Spv::IAdd, i(Spv::IMul, al, bh), i(Spv::IMul, ah, bl)), i(Spv::ShiftRightLogical, ll, by32));
  Pair product = {i(Spv::IAdd, hh, i(Spv::ShiftRightLogical, middle, by32)),
                  i(Spv::BitwiseOr, i(Spv::ShiftLeftLogical, middle, by32), i(Spv::BitwiseAnd, ll, low32))};
  // Exponents as signed numbers: of the last place of 128 bits.
  const Id up = i(Spv::ISub, clz128(product), c(2));
  product = left(product, up);
  const Id ep = i(Spv::ISub, i(Spv::ISub, i(Spv::IAdd, power(a), power(b)), c(2150)), up);
  const Id c_up = i(Spv::ISub, clz64(mc), c(2));
  const Id c_is_zero = Compare(Spv::IEqual, mc, zero);
  const Pair addend = {pick(c_is_zero, zero, i(Spv::ShiftLeftLogical, mc, i(Spv::BitwiseAnd, c_up, c(63)))), zero};
  const Id ec = pick(c_is_zero, i(Spv::ISub, ep, c(200)), i(Spv::ISub, i(Spv::ISub, power(d), c(1075 + 64)), c_up));

  const Id distance = i(Spv::ISub, ep, ec);
  const Id behind = Compare(Spv::SLessThan, distance, zero);
  const Pair x = {pick(behind, addend.hi, product.hi), pick(behind, addend.lo, product.lo)};
  const Pair y = right({pick(behind, product.hi, addend.hi), pick(behind, product.lo, addend.lo)},
                       pick(behind, i(Spv::ISub, zero, distance), distance));
  const Id e = pick(behind, ec, ep);
  const Id top = c(uint64_t{1} << 63);
  const Id sign_p = i(Spv::BitwiseAnd, i(Spv::BitwiseXor, a, b), top), sign_c = i(Spv::BitwiseAnd, d, top);
  const Id opposed = Compare(Spv::INotEqual, sign_p, sign_c);
  const auto add = [&](Pair u, Pair v) {
    const Id lo = i(Spv::IAdd, u.lo, v.lo);
    const Id carry = pick(Compare(Spv::ULessThan, lo, u.lo), one, zero);
    return Pair{i(Spv::IAdd, i(Spv::IAdd, u.hi, v.hi), carry), lo};
  };
  const auto negate = [&](Pair u) {
    const Id lo = i(Spv::ISub, zero, u.lo);
    const Id borrow = pick(Compare(Spv::INotEqual, u.lo, zero), one, zero);
    return Pair{i(Spv::ISub, i(Spv::ISub, zero, u.hi), borrow), lo};
  };
  const Pair minus_y = negate(y);
  Pair s = add(x, {pick(opposed, minus_y.hi, y.hi), pick(opposed, minus_y.lo, y.lo)});
  const Id negative = Compare(Spv::SLessThan, s.hi, zero);  // no sum of two reaches the highest bit
  const Pair minus_s = negate(s);
  s = {pick(negative, minus_s.hi, s.hi), pick(negative, minus_s.lo, s.lo)};
  Id sign = pick(behind, sign_c, sign_p);
  sign = i(Spv::BitwiseXor, sign, pick(negative, top, zero));

  const Id nothing = Compare(Spv::IEqual, i(Spv::BitwiseOr, s.hi, s.lo), zero);
  const Id n = clz128(s);
  s = left(s, i(Spv::BitwiseAnd, n, c(127)));
  // The highest one is worth 2^(e + 127 - n).
  const Id biased = i(Spv::IAdd, i(Spv::ISub, e, n), c(127 + 1023));
  const Id tiny = Compare(Spv::SLessThanEqual, biased, zero);
  const Id h = i(Spv::BitwiseOr, s.hi, pick(Compare(Spv::INotEqual, s.lo, zero), one, zero));
  const Pair down = right({h, zero}, pick(tiny, i(Spv::ISub, one, biased), zero));
  const Id kept = i(Spv::BitwiseOr, down.hi, pick(Compare(Spv::INotEqual, down.lo, zero), one, zero));
  const Id m = i(Spv::ShiftRightLogical, kept, c(11)), rest = i(Spv::BitwiseAnd, kept, c(0x7ff));
  const Id odd = i(Spv::BitwiseAnd, m, one);
  const Id round_up = Compare(Spv::UGreaterThan, i(Spv::IAdd, rest, odd), c(0x400));
  const Id places = pick(tiny, zero, i(Spv::ShiftLeftLogical, i(Spv::ISub, biased, one), c(52)));
  const Id rounded = i(Spv::IAdd, i(Spv::IAdd, places, m), pick(round_up, one, zero));
  const Id over = Compare(Spv::SGreaterThanEqual, biased, c(2047));
  const Id size = pick(over, c(0x7ff0000000000000), rounded);
  const Id general = pick(nothing, zero, i(Spv::BitwiseOr, sign, size));

  // Infinities and NaNs; zero products, which are exact.
  const Id direct = w_.Exact(Spv::FAdd, f64, {w_.Exact(Spv::FMul, f64, {p[0], p[1]}), p[2]});
  const Id factor_special = either(is_special(a), is_special(b));
  const Id product_zero = either(Compare(Spv::IEqual, ma, zero), Compare(Spv::IEqual, mb, zero));
  Id result = Select(f64, is_special(d), p[2], AsFloat(64, general));
  result = Select(f64, either(factor_special, product_zero), direct, result);
  w_.EndFunction(result);
  return id;
}

Id Scalars::FloatDivide(int bits, Id a, Id b) {
  const bool exact = bits == 64 ? device_.exact_divide_f64 : device_.exact_divide;
  if (!exact && bits == 32 && device_.f64 && device_.exact_divide_f64) {
    // A quotient of f32 that is rounded to f64 first is as if it were not.
    const Id f64 = w_.Float(64);
    const Id q = w_.Exact(Spv::FDiv, f64, {w_.Exact(Spv::FConvert, f64, {a}), w_.Exact(Spv::FConvert, f64, {b})});
    return w_.Exact(Spv::FConvert, w_.Float(32), {q});
  }
  return F(bits, Spv::FDiv, a, b);
}

Id Scalars::FloatSqrt(int bits, Id x) {
  const bool exact = bits == 64 ? device_.exact_sqrt_f64 : device_.exact_sqrt;
  if (!exact && bits == 32 && device_.f64 && device_.exact_sqrt_f64) {
    const Id f64 = w_.Float(64);
    const Id root = w_.Glsl(spv::GlslSqrt, f64, {w_.Exact(Spv::FConvert, f64, {x})});
    return w_.Exact(Spv::FConvert, w_.Float(32), {root});
  }
  return w_.Glsl(spv::GlslSqrt, w_.Float(bits), {x});
}

// C's fmod, by long division of the mantissas, as many bits at a time as the integer has room for.
Id Scalars::FloatRemainder(int bits) {
  Id& id = functions_[bits == 64 ? kRemainder64 : kRemainder32];
  if (id != 0) return id;
  const uint64_t places = bits == 64 ? 52 : 23, room = static_cast<uint64_t>(bits) - places - 1;
  const Id f = w_.Float(bits), u = w_.Int(bits);
  std::vector<Id> p;
  const Id types[] = {f, f};
  id = w_.BeginFunction(f, types, &p);
  const auto i = [&](Spv o, Id x, Id y) { return w_.Do(o, u, {x, y}); };
  const auto c = [&](uint64_t v) { return w_.CInt(bits, v); };
  const Id zero = c(0), one = c(1), top = c(uint64_t{1} << (bits - 1)), places_id = c(places);
  const uint64_t infinity = ((uint64_t{1} << (static_cast<uint64_t>(bits) - places - 1)) - 1) << places;
  const Id x = AsInt(bits, p[0]), sign = i(Spv::BitwiseAnd, x, top);
  const Id rest_of = c((uint64_t{1} << (bits - 1)) - 1);
  const Id a = i(Spv::BitwiseAnd, x, rest_of), b = i(Spv::BitwiseAnd, AsInt(bits, p[1]), rest_of);
  const auto clz = [&](Id v) { return Clz(bits == 64 ? DType::kU64 : DType::kU32, v); };
  // A mantissa with its highest one at `places`, and the biased exponent that goes with it.
  const auto split = [&](Id v, Id* exponent) {
    const Id e = i(Spv::ShiftRightLogical, v, places_id);
    const Id m = i(Spv::BitwiseAnd, v, c((uint64_t{1} << places) - 1));
    const Id tiny = Compare(Spv::IEqual, e, zero);
    const Id up = i(Spv::BitwiseAnd, i(Spv::ISub, clz(m), c(room)), c(static_cast<uint64_t>(bits) - 1));
    *exponent = Select(u, tiny, i(Spv::ISub, one, up), e);
    return Select(u, tiny, i(Spv::ShiftLeftLogical, m, up), i(Spv::BitwiseOr, m, c(uint64_t{1} << places)));
  };
  Id ea = 0, eb = 0;
  const Id first = split(a, &ea), mb = split(b, &eb);
  const Id divisor = Select(u, Compare(Spv::IEqual, mb, zero), one, mb);
  const Id m = w_.Variable(u), left = w_.Variable(u);
  const Id nearer = Compare(Spv::ULessThan, a, b);
  const Id nan_a = Compare(Spv::UGreaterThanEqual, a, c(infinity)), nan_b = Compare(Spv::UGreaterThan, b, c(infinity));
  const auto either = [&](Id s, Id t) { return w_.Do(Spv::LogicalOr, w_.Bool(), {s, t}); };
  const Id nan = either(either(nan_a, nan_b), Compare(Spv::IEqual, b, zero));
  const Id idle = either(nan, nearer);
  w_.Store(m, i(Spv::UMod, first, divisor));
  w_.Store(left, Select(u, idle, zero, i(Spv::ISub, ea, eb)));
  w_.While([&] { return Compare(Spv::SGreaterThan, w_.Load(u, left), zero); },
           [&] {
             const Id now = w_.Load(u, left);
             const Id step = Select(u, Compare(Spv::ULessThan, now, c(room)), now, c(room));
             w_.Store(m, i(Spv::UMod, i(Spv::ShiftLeftLogical, w_.Load(u, m), step), divisor));
             w_.Store(left, i(Spv::ISub, now, step));
           });
  const Id r = w_.Load(u, m);
  const Id up = i(Spv::BitwiseAnd, i(Spv::ISub, clz(r), c(room)), c(static_cast<uint64_t>(bits) - 1));
  const Id e = i(Spv::ISub, eb, up);
  const Id normal = Compare(Spv::SGreaterThan, e, zero);
  const Id lifted = i(Spv::ShiftLeftLogical, r, up);
  const Id down = Select(u, normal, zero, i(Spv::ISub, one, e));
  const Id size =
      Select(u, normal, i(Spv::IAdd, lifted, i(Spv::ShiftLeftLogical, i(Spv::ISub, e, one), places_id)),
             i(Spv::ShiftRightLogical, lifted, i(Spv::BitwiseAnd, down, c(static_cast<uint64_t>(bits) - 1))));
  const Id whole = Select(u, Compare(Spv::IEqual, r, zero), zero, size);
  Id result = Select(u, nearer, x, i(Spv::BitwiseOr, sign, whole));
  result = Select(u, nan, c(infinity | uint64_t{1} << (places - 1)), result);
  w_.EndFunction(AsFloat(bits, result));
  return id;
}

}  // namespace tenon::emit_spirv
