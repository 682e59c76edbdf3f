#pragma once

#include <cstdint>
#include <span>

#include "tenon/emit_llvm/internal/x64/lir.h"

namespace tenon::emit_llvm::x64 {

/// Which of an instruction's places hold what.
enum class Form : uint8_t {
  kRvm,      ///< reg <- vvvv, rm: vectors.
  kRm,       ///< reg <- rm: vectors.
  kMr,       ///< rm <- reg: vectors.
  kVm,       ///< vvvv <- rm: vectors; the reg field is a digit.
  kCompare,  ///< reg <- vvvv, rm: a mask of two vectors (with VEX a vector).
  kFromGpr,  ///< reg <- rm: a vector of an integer register.
  kMixed,    ///< reg <- vvvv, rm: a vector and an integer register.
  kToGpr,    ///< rm <- reg: an integer register of a vector.
  kLanes,    ///< reg and memory at a base and a vector of offsets.
  kOther,
};

/// One row of encodings.def: a vector operation as EVEX, as VEX, or both.
struct Encoding {
  const char* evex;  ///< Its name with EVEX; null: there is none.
  const char* vex;   ///< Its name with VEX; null: there is none.
  uint8_t map, prefix, w, opcode;
  uint8_t vex_w;
  Form form;
  int8_t digit;  ///< -1: none.
  bool imm;
};
std::span<const Encoding> Encodings();

/// Whether the table has it.
bool HasEvex(const Op& op);
/// Whether VEX says the same in all rows of the operation, which may differ in their digits.
bool ShorterAsVex(const Op& op);
/// Whether the VEX form may read its operand from memory: shifts by constants may not, as EVEX they may.
bool VexTakesMemory(const Op& op);
/// The same operation with VEX in `*vex`; false when there is none.
bool VexOf(const Op& op, Op* vex);

}  // namespace tenon::emit_llvm::x64
