#pragma once

// Numbers of which the IR shows in which range they lie: less work gives the same bits.

namespace llvm {
class Instruction;
class Value;
}  // namespace llvm

namespace tenon::emit_llvm::x64 {

/// What the comparison or clamp gives in fewer steps, in 32 bits where they are enough; null: it stays as it is.
llvm::Value* Narrowed(llvm::Instruction& inst);

/// Of a shift whose result does not count where it is too far (`far ? 0 : x << (far ? 0 : n)`), so many places as the
/// machine would take anyway.
void ShortenShift(llvm::Instruction& inst);

/// Offsets in bytes of a gather or scatter, `inst`'s, as 32-bit numbers times what an address may be scaled by; null
/// when they may not fit.
llvm::Value* NarrowOffsets(llvm::Instruction& inst, llvm::Value* offsets);

}  // namespace tenon::emit_llvm::x64
