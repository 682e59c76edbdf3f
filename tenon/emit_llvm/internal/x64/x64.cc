#include "tenon/emit_llvm/internal/x64/x64.h"

#include "tenon/emit_llvm/internal/x64/allocate.h"
#include "tenon/emit_llvm/internal/x64/assemble.h"
#include "tenon/emit_llvm/internal/x64/select.h"

namespace tenon::emit_llvm::x64 {

namespace {
constexpr size_t kMaxLiveness = size_t{1} << 28;  // blocks times registers: a bit each, three times
constexpr int32_t kMaxFrame = 1 << 17;            // spilled values have a slot each, and stacks of threads are finite
}  // namespace

std::optional<std::vector<uint8_t>> Compile(const llvm::Function& function) {
  std::optional<Function> selected = Select(function);
  if (!selected || selected->blocks.size() * selected->classes.size() > kMaxLiveness) return std::nullopt;
  const std::vector<Location> where = Allocate(*selected);
  if (selected->frame_bytes > kMaxFrame) return std::nullopt;
  return Assemble(*selected, where);
}

}  // namespace tenon::emit_llvm::x64
