#include "tenon/emit_llvm/internal/x64/x64.h"

#include "tenon/emit_llvm/internal/x64/allocate.h"
#include "tenon/emit_llvm/internal/x64/assemble.h"
#include "tenon/emit_llvm/internal/x64/scalarise.h"
#include "tenon/emit_llvm/internal/x64/select.h"

namespace tenon::emit_llvm::x64 {

namespace {
constexpr size_t kMaxLiveness = size_t{1} << 28;  // blocks times registers: a bit each, three times
constexpr int32_t kMaxFrame = 1 << 17;            // spilled values have a slot each, and stacks of threads are finite
}  // namespace

std::optional<std::vector<uint8_t>> Compile(llvm::Function& function, isa::IsaLevel level, std::string* reason) {
  const bool avx2 = level == isa::IsaLevel::kAvx2;
  Scalarise(function, avx2);
  std::optional<Function> selected = Select(function, avx2, reason);
  if (!selected) return std::nullopt;
  if (selected->blocks.size() * selected->classes.size() > kMaxLiveness) {
    *reason = "too long";
    return std::nullopt;
  }
  const std::vector<Location> where = Allocate(*selected);
  if (selected->frame_bytes > kMaxFrame) {
    *reason = "frame too large";
    return std::nullopt;
  }
  std::optional<std::vector<uint8_t>> code = Assemble(*selected, where);
  if (!code) *reason = "too few scratch registers";
  return code;
}

}  // namespace tenon::emit_llvm::x64
