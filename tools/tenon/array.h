#pragma once

#include <complex>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "tenon/client/buffer.h"

namespace tenon::cli {

/// Dense row-major arrays on the host, of any element type that has bytes.
using Array = client::HostCopy;

/// Zeros. INVALID_ARGUMENT for types without bytes and for extents that do not fit into memory.
Result<Array> MakeArray(const Shape& shape);

/// Element `i` as text that ParseElement reads back: "1.5", "-3", "true", "(1,2)".
std::string ElementText(const Array& array, size_t i);
/// Element `i` as a number; booleans are 0 and 1. 64-bit integers are rounded.
std::complex<double> ElementNumber(const Array& array, size_t i);
/// Sets element `i`. INVALID_ARGUMENT for text that is no value of the type, or out of its range.
Status ParseElement(Array& array, size_t i, std::string_view text);

/// "f32[2,3]", "bf16[]", also without brackets for scalars.
Result<Shape> ParseShape(std::string_view text);

/// "f32[2,2]:1,2,3,4", "f32:1.5", "s32[4]:7" (one value for all elements).
Result<Array> ParseLiteral(std::string_view text);

enum class Fill { kZeros, kOnes, kIota, kRandom };
/// kRandom: floats in [-1, 1), integers over small values (indices stay in range of most programs: 0 to 9, signed -10
/// to 9), booleans evenly; the same for the same seed, type and shape.
Result<Array> MakeFilled(const Shape& shape, Fill fill, uint64_t seed);

/// As NumPy prints: nested brackets; at most `most` elements, the rest as "...".
std::string ToText(const Array& array, size_t most);
/// {"dtype", "shape", "data"}: nested lists of numbers; complex numbers and what JSON has no number for become text.
nlohmann::json ToJson(const Array& array, size_t most);

}  // namespace tenon::cli
