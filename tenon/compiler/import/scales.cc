#include "tenon/compiler/import/scales.h"

#include "tenon/compiler/import/writer.h"

namespace tenon::compiler {
namespace {

using mlir::Value;

// Of the format: code c is 2^(c - 127), the last one NaN.
constexpr uint64_t kNanCode = 0xff;                                     // structural: the format's
constexpr uint64_t kF32Infinity = 0x7f800000, kF32Normal = 0x00800000;  // structural: f32's

/// How a float lies in its word. bf16 and f32 have the format's exponents, the first of which is subnormal there.
struct Layout {
  unsigned width;
  uint64_t mantissa_bits, rebias, first, nan;
};
constexpr Layout kF32{32, 23, 0, 0x00400000, 0x7fc00000};                                   // structural: its bits
constexpr Layout kBf16{16, 7, 0, 0x0040, 0x7fc0};                                           // structural: its bits
constexpr Layout kF64{64, 52, 1023 - 127, uint64_t{1023 - 127} << 52, 0x7ff8000000000000};  // structural: its bits

class Scales {
 public:
  Scales(mlir::Operation* op, mlir::RankedTensorType type) : w_(op), type_(type) {}

  Value FromScale(Value x, mlir::Type to) {
    // No conversion of a subnormal number: those may be taken for zero.
    const Layout& layout = to.isF64() ? kF64 : to.isBF16() ? kBf16 : kF32;
    words_ = type_.clone(w_.Unsigned(layout.width));
    const Value code =
        w_.Convert(w_.Op("stablehlo.bitcast_convert", x, type_.clone(w_.Unsigned(8))), words_.getElementType());
    Value word = w_.Binary("stablehlo.shift_left", w_.Binary("stablehlo.add", code, Number(layout.rebias)),
                           Number(layout.mantissa_bits));
    word = Where(w_.Compare(code, Number(0), "EQ"), Number(layout.first), word);
    word = Where(w_.Compare(code, Number(kNanCode), "EQ"), Number(layout.nan), word);
    const mlir::Type made = &layout == &kF32 ? w_.f32() : to;
    return w_.Convert(w_.Op("stablehlo.bitcast_convert", word, type_.clone(made)), to);
  }

  /// To the nearest power, up from the middle; of what lies below the second code, up from the first one on. What has
  /// no power near it, zero and negative numbers among them, is NaN.
  Value ToScale(Value x, mlir::Type scale) {
    words_ = type_.clone(w_.Unsigned(kF32.width));
    const Value word = w_.Op("stablehlo.bitcast_convert", InF32(x), words_);
    Value code = w_.Binary("stablehlo.shift_right_logical", w_.Binary("stablehlo.add", word, Number(kF32.first)),
                           Number(kF32.mantissa_bits));
    const Value below = Where(w_.Compare(word, Number(kF32.first), "GT"), Number(1), Number(0));
    code = Where(w_.Compare(word, Number(kF32Normal), "LT"), below, code);
    code = Where(w_.Compare(word, Number(0), "EQ"), Number(kNanCode), code);
    // Infinity, NaN, and what has a sign.
    code = Where(w_.Compare(word, Number(kF32Infinity), "GE"), Number(kNanCode), code);
    return w_.Op("stablehlo.bitcast_convert", w_.Convert(code, w_.Unsigned(8)), type_.clone(scale));
  }

 private:
  Value InF32(Value x) {
    if (!TensorOf(x).getElementType().isBF16()) return w_.Convert(x, w_.f32());
    const Value half = w_.Op("stablehlo.bitcast_convert", x, type_.clone(w_.Unsigned(kBf16.width)));
    const Value word =
        w_.Binary("stablehlo.shift_left", w_.Convert(half, w_.Unsigned(kF32.width)), Number(kF32.width - kBf16.width));
    return w_.Op("stablehlo.bitcast_convert", word, type_.clone(w_.f32()));
  }
  Value Number(uint64_t n) { return w_.Ints(words_, {n}); }
  Value Where(Value condition, Value a, Value b) { return w_.Op("stablehlo.select", {condition, a, b}, a.getType()); }

  OpWriter w_;
  mlir::RankedTensorType type_;   ///< The result's.
  mlir::RankedTensorType words_;  ///< Of the floats.
};

}  // namespace

std::optional<Value> ConvertedScale(mlir::Operation* op) {
  const Value x = op->getOperand(0);
  const auto type = mlir::cast<mlir::RankedTensorType>(op->getResultTypes()[0]);
  const mlir::Type from = TensorOf(x).getElementType(), to = type.getElementType();
  const bool was = mlir::isa<mlir::Float8E8M0FNUType>(from), becomes = mlir::isa<mlir::Float8E8M0FNUType>(to);
  if (was == becomes) return std::nullopt;
  if (was) {
    if (!mlir::isa<mlir::FloatType>(to)) return std::nullopt;
    return Scales(op, type).FromScale(x, to);
  }
  auto narrow = mlir::dyn_cast<mlir::FloatType>(from);
  if (!narrow || narrow.getWidth() > kF32.width) return std::nullopt;
  return Scales(op, type).ToScale(x, to);
}

}  // namespace tenon::compiler
