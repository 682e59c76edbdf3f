#pragma once

#include <cstddef>
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

/// How many registers of each class values may have.
struct Registers {
  size_t gprs = 12;
  size_t vecs = 29;  ///< 13 with AVX2.
  size_t masks = 6;
};

/// What an allocation leaves to memory: instructions, and operands that are read from there, of the function's text.
struct SpillCount {
  int stores = 0;
  int loads = 0;
  int folded = 0;  ///< Operands in memory of instructions that want them anyway.
  int places = 0;  ///< In the frame.
  /// All of them and copies between registers, in halves of an instruction, by how often they run.
  double weight = 0;
};
SpillCount CountSpills(const Function& function, const std::vector<Location>& where);

/// Linear scan over one interval per value: [definition, last use], whole loops included for what lives across them.
/// Who is used least per instruction goes to memory, where a place serves one value after the other; constants are read
/// from where they are. What lies in memory is split then (split.h) and scanned again, as long as that makes fewer
/// moves, a few times at most. The location of each register; rewrites the function and grows its frame. Near-linear in
/// the instructions.
std::vector<Location> Allocate(Function& function, const Registers& registers = {});

}  // namespace tenon::emit_llvm::x64
