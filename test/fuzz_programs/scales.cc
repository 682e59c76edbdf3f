// Powers of two in eight bits, which have neither zero nor sign: moved, chosen, ordered, and the bits of all of them.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "test/fuzz_programs/ops.h"

namespace tenon::fuzz {
namespace {

const Type kScale{"f8E8M0FNU", DType::kF8E8M0FNU, Kind::kFloat, 8, 1, 1e38};

/// Some of them: from bits, or the nearest to numbers of at least one.
Value Scales(Builder& b, const Dims& dims) {
  if (b.random.Chance(2)) {
    // Not the NaN, and nothing that f32 has no normal number for.
    const Type byte = TypeOf(DType::kU8);
    const Value bits = b.Match(byte, dims), low = b.Splat(byte, {}, 100), high = b.Splat(byte, {}, 150);
    const Value inside = b.EmitHidden(fmt::format("stablehlo.clamp {}, {}, {} : ({}, {}, {}) -> {}", low.name,
                                                  bits.name, high.name, Text(low), Text(bits), Text(high), Text(bits)),
                                      byte, dims, {.bound = 150});
    return b.EmitHidden(
        fmt::format("stablehlo.bitcast_convert {} : ({}) -> {}", inside.name, Text(inside), Text(kScale, dims)), kScale,
        dims, {.bound = std::ldexp(1.0, 23)});
  }
  const Type type =
      TypeOf(b.random.OneOf({DType::kF32, DType::kF32, DType::kBF16, DType::kS32, DType::kU8, DType::kF64}));
  Value v = b.Match(type, dims);
  const Value one = b.Splat(type, {}, 1), most = b.Splat(type, {}, 100);
  v = b.EmitHidden(fmt::format("stablehlo.clamp {}, {}, {} : ({}, {}, {}) -> {}", one.name, v.name, most.name,
                               Text(one), Text(v), Text(most), Text(v)),
                   type, dims, v.is);
  return b.EmitHidden(fmt::format("stablehlo.convert {} : ({}) -> {}", v.name, Text(v), Text(kScale, dims)), kScale,
                      dims, {.bound = 128, .error = v.is.error});
}

}  // namespace

void AddScales(Builder& b) {
  const Dims dims = b.Any().dims;
  if (!b.Fits(dims)) return;
  Value v = Scales(b, dims);
  if (!v.is.exact()) return;
  for (int64_t n = b.random.Pick(4); n > 0; --n) {
    switch (b.random.Pick(6)) {
      case 0: {
        const Dims order = b.Permutation(v.rank());
        Dims out;
        for (const int64_t d : order) out.push_back(v.dims[static_cast<size_t>(d)]);
        v = b.EmitHidden(fmt::format("stablehlo.transpose {}, dims = {} : ({}) -> {}", v.name, List(order), Text(v),
                                     Text(kScale, out)),
                         kScale, out, v.is);
        break;
      }
      case 1:
        v = b.EmitHidden(fmt::format("stablehlo.reverse {}, dims = {} : {}", v.name, List(b.Subset(v.rank())), Text(v)),
                         kScale, v.dims, v.is);
        break;
      case 2: {
        const Value other = Scales(b, v.dims), p = b.Match(TypeOf(DType::kPred), v.dims);
        if (!other.is.exact()) break;
        v = b.EmitHidden(
            fmt::format("stablehlo.select {}, {}, {} : {}, {}", p.name, v.name, other.name, Text(p), Text(v)), kScale,
            v.dims, Join(v.is, other.is));
        break;
      }
      case 3: {
        if (v.dims.empty()) break;
        const int64_t along = b.random.Pick(static_cast<int64_t>(v.rank()));
        const std::string s = Text(kScale, {});
        v = b.EmitHidden(
            fmt::format(
                "\"stablehlo.sort\"({0}) ({{\n  ^bb0(%x: {1}, %y: {1}):\n    %c = stablehlo.compare {2}, %x, %y, "
                "FLOAT : ({1}, {1}) -> tensor<i1>\n    stablehlo.return %c : tensor<i1>\n  }}) {{dimension = "
                "{3} : i64, is_stable = true}} : ({4}) -> {4}",
                v.name, s, b.random.OneOf({"LT", "GT"}), along, Text(v)),
            kScale, v.dims, v.is);
        break;
      }
      case 4: {
        const Value with = Scales(b, {});
        if (!with.is.exact()) break;
        Dims low, out, none(v.rank(), 0);
        for (const int64_t d : v.dims) {
          low.push_back(b.random.Pick(3));
          out.push_back(d + low.back());
        }
        if (!b.Fits(out)) break;
        v = b.EmitHidden(
            fmt::format("stablehlo.pad {}, {}, low = {}, high = {}, interior = {} : ({}, {}) -> {}", v.name, with.name,
                        List(low), List(none), List(none), Text(v), Text(with), Text(kScale, out)),
            kScale, out, Join(v.is, with.is));
        break;
      }
      default: {
        const Value other = Scales(b, v.dims);
        if (!other.is.exact()) break;
        b.Emit(fmt::format("stablehlo.compare {}, {}, {}, FLOAT : ({}, {}) -> {}",
                           b.random.OneOf({"EQ", "NE", "LT", "GE"}), v.name, other.name, Text(v), Text(v),
                           Text(TypeOf(DType::kPred), v.dims)),
               TypeOf(DType::kPred), v.dims, {.bound = 1});
      }
    }
  }
  if (b.random.Chance(2)) {
    const Type byte = TypeOf(DType::kU8);
    b.Emit(fmt::format("stablehlo.bitcast_convert {} : ({}) -> {}", v.name, Text(v), Text(byte, v.dims)), byte, v.dims,
           {.bound = 255});
    return;
  }
  const Type to = TypeOf(b.random.OneOf({DType::kF32, DType::kF64}));
  Numbers is = v.is;
  b.Emit(fmt::format("stablehlo.convert {} : ({}) -> {}", v.name, Text(v), Text(to, v.dims)), to, v.dims,
         is.bound > to.exact_limit() ? Numbers{.bound = 1e30, .special = true}
                                     : Numbers{.bound = is.bound, .special = true});
}

}  // namespace tenon::fuzz
