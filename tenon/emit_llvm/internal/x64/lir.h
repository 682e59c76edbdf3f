#pragma once

// Machine instructions over virtual registers: what selection writes, allocation reads and assembly encodes. x86-64
// with AVX-512 (F, BW, CD, DQ, VL), or with AVX2, FMA, F16C and BMI2.

#include <cstdint>
#include <utility>
#include <vector>

namespace tenon::emit_llvm::x64 {

enum class RegClass : uint8_t { kGpr, kVec, kMask };
/// A virtual register; 0: none.
using Reg = uint32_t;

enum class Space : uint8_t { kLegacy, kVex, kEvex };
/// One operation's encoding. `map`: 1 = 0F, 2 = 0F38, 3 = 0F3A, 0 = one byte; `prefix`: 0 none, 1 = 66, 2 = F3, 3 = F2.
struct Op {
  Space space;
  uint8_t map;
  uint8_t prefix;
  uint8_t w;
  uint8_t opcode;
};

/// An operand in memory. Either registers and a displacement, or a place in the constants or in the frame.
struct Mem {
  Reg base = 0;
  Reg index = 0;
  uint8_t scale = 1;
  int32_t disp = 0;
  int32_t pool = -1;   ///< Offset in the constants.
  int32_t frame = -1;  ///< Offset in the frame.
};

enum class Slot : uint8_t { kNone, kReg, kVvvv, kRm };
enum class Kind : uint8_t {
  kEncoded,
  kCopy,    ///< reg <- rm, of one class.
  kJump,    ///< To `target`.
  kBranch,  ///< To `target` when `cc` holds, else to `other`.
  kReturn,
  kNothing,
  kDivide,        ///< reg <- vvvv / rm, `w` in op; `imm` 1: the remainder; `cc` 1: signed.
  kMultiplyHigh,  ///< reg <- the upper half of vvvv * rm, unsigned, 64 bits.
};

struct Inst {
  Kind kind = Kind::kEncoded;
  Op op{};
  uint8_t len = 0;    ///< 0, 1, 2: 128, 256, 512 bits.
  uint8_t digit = 0;  ///< The reg field when no register is there.
  uint8_t imm_bytes = 0;
  uint8_t cc = 0;
  uint8_t mem_bytes = 0;  ///< What the rm operand reads or writes in memory.
  uint8_t element = 0;    ///< Bytes that a broadcast from memory may read instead; 0: this operation cannot broadcast.
  bool foldable = false;  ///< rm may be memory.
  bool commutes = false;  ///< vvvv and rm may change places; an FMA changes its form with them.
  bool zeroing = false;
  bool broadcast = false;
  bool has_mem = false;
  bool byte_register = false;
  bool mask_in_immediate = false;  ///< VEX: the mask is a vector, named by the immediate.
  bool uses_up_mask = false;       ///< Gathers and scatters clear their mask; 0 is a full one. The index is a vector.
  Slot def = Slot::kNone;
  Reg reg = 0;
  Reg vvvv = 0;
  Reg rm = 0;
  Reg tied = 0;  ///< What the defined register holds before.
  Reg mask = 0;
  Mem mem = {};
  int64_t imm = 0;
  uint32_t target = 0;
  uint32_t other = 0;

  Reg Defined() const { return def == Slot::kReg ? reg : def == Slot::kVvvv ? vvvv : def == Slot::kRm ? rm : 0; }
  /// Calls `f` with a reference to each register that is read.
  template <class F>
  void ForUses(F f) {
    if (reg != 0 && def != Slot::kReg) f(reg);
    if (vvvv != 0 && def != Slot::kVvvv) f(vvvv);
    if (rm != 0 && def != Slot::kRm) f(rm);
    if (tied != 0) f(tied);
    if (mask != 0) f(mask);
    if (has_mem && mem.base != 0) f(mem.base);
    if (has_mem && mem.index != 0) f(mem.index);
  }
};

struct Phi {
  Reg result;
  std::vector<std::pair<uint32_t, Reg>> from;  ///< Block and value.
};

struct Block {
  std::vector<Phi> phis;
  std::vector<Inst> code;
  std::vector<uint32_t> next;
  std::vector<uint32_t> previous;
};

/// Bytes of a frame at most: stacks of threads are finite.
constexpr int32_t kMaxFrame = 1 << 17;

/// A vector register, or a mask, that only ever holds a constant.
struct Constant {
  Reg reg;
  int32_t pool;
  uint8_t len;
  uint8_t element;  ///< Bytes that repeat: 4, 8; 16 << len when nothing does.
};

struct Function {
  bool avx2 = false;  ///< VEX instead of EVEX: registers of 256 bits, 16 of them, and masks are vectors.
  std::vector<RegClass> classes{RegClass::kGpr};  ///< Of register r at [r]; [0] is nobody's.
  /// Of vector register r at [r]: how much of it may matter, as Inst::len; what is above is zero or never read.
  /// kUnknownLen: all of it, or left to allocation to find. Moving no more than that keeps 512-bit instructions, beside
  /// which a processor does less at once, out of code that does not need them.
  std::vector<uint8_t> lens{0};
  /// Of register r at [r]: the value that it holds a copy of for a while (split.h); 0: one of its own.
  std::vector<Reg> copy_of{0};
  std::vector<Block> blocks;   ///< In the order of the code; the first is the entry.
  std::vector<Reg> arguments;  ///< Integers, in the order of the calling convention.
  std::vector<Constant> constants;
  std::vector<uint8_t> pool;
  int32_t frame_bytes = 0;  ///< Multiple of 64.

  static constexpr uint8_t kUnknownLen = 0xff;
  uint8_t MaxLen() const { return avx2 ? 1 : 2; }
  uint8_t LenOf(Reg r) const { return lens[r] == kUnknownLen ? MaxLen() : lens[r]; }
  /// What the register holds.
  Reg ValueOf(Reg r) const { return copy_of[r] != 0 ? copy_of[r] : r; }
  Reg NewReg(RegClass c) {
    classes.push_back(c);
    lens.push_back(kUnknownLen);
    copy_of.push_back(0);
    return static_cast<Reg>(classes.size() - 1);
  }
};

}  // namespace tenon::emit_llvm::x64
