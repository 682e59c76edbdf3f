#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "tenon/base/status.h"

namespace tenon::isa {

/// Instruction sets that Tenon compiles for, each including the ones before it. Results are bit-equal on every level
/// with FMA (kAvx2 and up); kSse4 rounds products and sums separately.
enum class IsaLevel : uint8_t {
  kSse4,    ///< x86-64-v2: SSE4.2, POPCNT. The least that Tenon runs on.
  kAvx2,    ///< x86-64-v3: AVX2, FMA, F16C, BMI1/2, LZCNT, MOVBE.
  kAvx512,  ///< x86-64-v4: AVX-512 F, BW, CD, DQ, VL.
};
inline constexpr std::array kAllIsaLevels = {IsaLevel::kSse4, IsaLevel::kAvx2, IsaLevel::kAvx512};

/// "sse4", "avx2", "avx512".
std::string_view IsaLevelName(IsaLevel level);
/// The level called `name` (lower case, as IsaLevelName gives it); INVALID_ARGUMENT naming the choices otherwise.
Result<IsaLevel> ParseIsaLevel(std::string_view name);

/// Extensions beyond a level. They speed single kernels up and never change a result.
struct IsaExtras {
  bool avx512_vnni = false;
  bool avx512_bf16 = false;
  bool avx512_vbmi = false;       ///< Bytes of two registers anywhere: vpermb, vpermi2b.
  bool avx512_vpopcntdq = false;  ///< Counts of bits in lanes of 32 and 64.
  bool avx512_bitalg = false;     ///< And in those of 8 and 16.
  friend bool operator==(const IsaExtras&, const IsaExtras&) = default;
};

/// What this CPU and its operating system offer, whatever TENON_MAX_ISA says. Below x86-64-v2, and on other
/// architectures, kSse4.
IsaLevel DetectedIsa();

/// The level to generate and choose code for: DetectedIsa() lowered to TENON_MAX_ISA (sse4|avx2|avx512) when that is
/// set. The variable is read at the first call and the answer, or the error, kept. INVALID_ARGUMENT when its value is
/// not a level's name.
Result<IsaLevel> SelectedIsa();
/// SelectedIsa() or, when TENON_MAX_ISA is malformed, DetectedIsa(). For code that cannot fail; whoever starts a client
/// reports the error through SelectedIsa().
IsaLevel ActiveIsa();
/// The extras of this CPU; none below kAvx512.
IsaExtras ExtrasFor(IsaLevel level);

/// The level for the variable's text, as SelectedIsa applies it: an empty text changes nothing, a level above
/// `detected` is lowered to it.
Result<IsaLevel> ApplyMaxIsa(IsaLevel detected, std::string_view text);

/// LLVM's names: a `-mcpu` ("x86-64-v3") and a feature list ("+prefer-256-bit,..." style) that together select exactly
/// `level`.
std::string_view LlvmCpu(IsaLevel level);
std::string_view LlvmFeatures(IsaLevel level);

/// Bytes of one vector register at `level`: 16, 32, 64.
constexpr int VectorBytes(IsaLevel level) { return 16 << static_cast<int>(level); }

}  // namespace tenon::isa
