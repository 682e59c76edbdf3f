#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tenon/emit_llvm/internal/x64/allocate.h"

namespace tenon::emit_llvm::x64 {

/// A finished function.
struct Code {
  std::vector<uint8_t> bytes;  ///< With its constants behind it: to be placed at a multiple of 64, anywhere.
  int64_t text_bytes = 0;      ///< What of it is instructions.
  std::vector<uint8_t> cfi;    ///< Where the caller's registers are at each of them: DWARF call frame instructions.
  int32_t frame_bytes = 0;     ///< Of stack.
  SpillCount spills{};
};

/// The function's code. Nothing when an instruction needs more scratch registers than there are. Arguments arrive as in
/// the System V calling convention.
std::optional<Code> Assemble(const Function& function, const std::vector<Location>& where);

}  // namespace tenon::emit_llvm::x64
