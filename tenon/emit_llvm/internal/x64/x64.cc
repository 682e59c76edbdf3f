#include "tenon/emit_llvm/internal/x64/x64.h"

#include "tenon/emit_llvm/internal/x64/allocate.h"
#include "tenon/emit_llvm/internal/x64/assemble.h"
#include "tenon/emit_llvm/internal/x64/select.h"

namespace tenon::emit_llvm::x64 {

std::optional<std::vector<uint8_t>> Compile(const llvm::Function& function) {
  std::optional<Function> selected = Select(function);
  if (!selected) return std::nullopt;
  const std::vector<Location> where = Allocate(*selected);
  return Assemble(*selected, where);
}

}  // namespace tenon::emit_llvm::x64
