#pragma once

#include <vector>

#include "tenon/emit_llvm/internal/x64/lir.h"

namespace tenon::emit_llvm::x64 {

// Registers that are never given to a value: what spilled operands pass through.
constexpr uint8_t kScratchGpr[] = {0, 2};  // rax, rdx; division uses them too
constexpr uint8_t kScratchVec[] = {31, 30, 29};
constexpr uint8_t kScratchVecAvx2[] = {15, 14, 13};
constexpr uint8_t kScratchMask[] = {7, 0};
constexpr uint8_t kRsp = 4;
constexpr uint8_t kRbp = 5;
/// rdi, rsi, rdx, rcx, r8, r9.
constexpr uint8_t kArgumentGpr[] = {7, 6, 2, 1, 8, 9};

/// Where a value lies for as long as it lives.
struct Location {
  enum class Kind : uint8_t { kNowhere, kRegister, kFrame, kPool };
  Kind kind = Kind::kNowhere;
  uint8_t reg = 0;
  uint8_t element = 0;  ///< kPool: bytes that repeat.
  uint8_t len = 0;      ///< kPool.
  int32_t at = 0;       ///< kFrame, kPool: offset.
  /// Bytes of a place in the frame for a vector of that length.
  static constexpr int32_t FrameBytes(uint8_t len) { return 16 << len; }
  friend bool operator==(const Location&, const Location&) = default;
};

/// Linear scan over one interval per value: [definition, last use], whole loops included for what lives across them.
/// Who is used least per instruction goes to memory, where a place serves one value after the other; constants are read
/// from where they are. The location of each register; grows the function's frame. Near-linear in the instructions.
std::vector<Location> Allocate(Function& function);

}  // namespace tenon::emit_llvm::x64
