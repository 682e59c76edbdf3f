#include "tenon/emit_llvm/internal/x64/x64.h"

#include "tenon/emit_llvm/internal/x64/allocate.h"
#include "tenon/emit_llvm/internal/x64/assemble.h"
#include "tenon/emit_llvm/internal/x64/expand.h"
#include "tenon/emit_llvm/internal/x64/prepare.h"
#include "tenon/emit_llvm/internal/x64/scalarise.h"
#include "tenon/emit_llvm/internal/x64/select.h"

namespace tenon::emit_llvm::x64 {

std::optional<Code> Compile(llvm::Function& function, isa::IsaLevel level, const isa::IsaExtras& extras,
                            std::string* reason, const Registers& registers) {
  const bool avx2 = level == isa::IsaLevel::kAvx2;
  Prepare(function);
  Expand(function, avx2);
  Scalarise(function, avx2);
  std::optional<Function> selected = Select(function, avx2, extras, reason);
  if (!selected) return std::nullopt;
  const std::vector<Location> where = Allocate(*selected, registers);
  if (selected->frame_bytes > kMaxFrame) {
    *reason = "frame too large";
    return std::nullopt;
  }
  std::optional<Code> code = Assemble(*selected, where);
  if (!code) {
    *reason = "too few scratch registers";
    return std::nullopt;
  }
  code->frame_bytes = selected->frame_bytes;
  code->spills = CountSpills(*selected, where);
  return code;
}

}  // namespace tenon::emit_llvm::x64
