#pragma once

#include <cstdint>
#include <string_view>

#include "tenon/base/status.h"

namespace tenon {

/// Element types; the numbers equal PJRT_Buffer_Type.
enum class DType : uint8_t {
#define TENON_DTYPE(enumerator, name, bits, kind) enumerator,
#include "tenon/base/dtype.def"
#undef TENON_DTYPE
};
inline constexpr int kNumDTypes = 34;

enum class DTypeKind : uint8_t { kNone, kBool, kSigned, kUnsigned, kFloat, kComplex };

/// "f32", "bf16", "s8", "pred" ...; "invalid" for a number outside the list.
std::string_view DTypeName(DType type);
/// The type called `name`; INVALID_ARGUMENT when there is none.
Result<DType> ParseDType(std::string_view name);

/// Significant bits of one element; 0 for kInvalid and kToken.
int DTypeBits(DType type);
DTypeKind KindOf(DType type);

/// Bytes that one element takes in Tenon's buffers: types narrower than a byte take a whole one (value in the low bits,
/// signed integers sign-extended). 0 for kInvalid and kToken.
int ByteWidth(DType type);

inline bool IsFloat(DType t) { return KindOf(t) == DTypeKind::kFloat; }
inline bool IsComplex(DType t) { return KindOf(t) == DTypeKind::kComplex; }
inline bool IsSigned(DType t) { return KindOf(t) == DTypeKind::kSigned; }
inline bool IsUnsigned(DType t) { return KindOf(t) == DTypeKind::kUnsigned; }
inline bool IsInteger(DType t) { return IsSigned(t) || IsUnsigned(t); }

/// f32 for c64, f64 for c128; kInvalid otherwise.
DType RealPartOf(DType type);

}  // namespace tenon
