#pragma once

#include <llvm/IR/IRBuilder.h>

#include <cstdint>
#include <span>

#include "tenon/isa/isa.h"
#include "tenon/kir/kir.h"

namespace tenon::emit_llvm {

/// KIR's scalar operations as LLVM IR on scalars or vectors alike: the number of lanes is that of the operands.
///
/// Register forms: pred is i1; integers are iN (narrower than a byte: i8, kept in range); f32 and f64 are themselves;
/// f16, bf16 and f8 are f32 values that the narrow type can hold exactly. Memory forms are what buffers hold: pred is
/// i8, narrow floats are their bits.
class ScalarLowering {
 public:
  ScalarLowering(llvm::IRBuilder<>* builder, isa::IsaLevel isa)
      : b_(*builder), isa_(isa), rounds_to_bf16_(isa::ExtrasFor(isa).avx512_bf16) {}

  static unsigned LanesOf(llvm::Value* v);
  llvm::Type* RegisterType(DType type, unsigned lanes);
  llvm::Type* MemoryType(DType type, unsigned lanes);
  /// Bytes of one lane of the register form.
  static int RegisterBytes(DType type);

  llvm::Constant* Literal(DType type, uint64_t bits, unsigned lanes);
  llvm::Value* FromMemory(DType type, llvm::Value* memory);
  llvm::Value* ToMemory(DType type, llvm::Value* value);
  llvm::Value* Splat(llvm::Value* scalar, unsigned lanes);

  /// Any operation but leaves and kMath. `in_types`: the operands' types.
  llvm::Value* Lower(const kir::Node& node, std::span<const DType> in_types, std::span<llvm::Value* const> in);

  /// x / divisor of f32 or f64, by products alone, for x that are not below 2^least where they are finite and not zero;
  /// null where that would not give the bits of each quotient, or takes an instruction that is not there.
  llvm::Value* DivideByProducts(llvm::Value* x, double divisor, int least);

  /// Inlines a graph (combiner, math function) on `arguments`: for `copies` that do not wait for one another, operation
  /// by operation. `arguments` holds those of the first copy, then those of the second..., and so does the result.
  llvm::SmallVector<llvm::Value*, 2> Inline(const kir::Graph& graph, std::span<llvm::Value* const> arguments,
                                            size_t copies = 1);

  /// The first thing that could not be lowered; OK while everything could.
  const Status& status() const { return status_; }
  void Fail(Status status) {
    if (status_.ok()) status_ = std::move(status);
  }

 private:
  /// `like`'s shape with another element type.
  llvm::Type* Shaped(llvm::Type* element, llvm::Value* like);
  llvm::Type* IntOf(llvm::Value* like, unsigned bits) { return Shaped(b_.getIntNTy(bits), like); }
  llvm::Value* Int(llvm::Value* like, uint64_t bits);  ///< A constant of `like`'s integer type.

  llvm::Value* LowerOperation(const kir::Node& node, std::span<const DType> in_types, std::span<llvm::Value* const> in);
  llvm::Value* Arithmetic(const kir::Node& node, std::span<llvm::Value* const> in);
  /// x * y + z without a rounded product, of levels without such an instruction.
  llvm::Value* AddProduct(llvm::Value* x, llvm::Value* y, llvm::Value* z);
  llvm::Value* Select(llvm::Value* condition, llvm::Value* yes, llvm::Value* no);
  /// Signed, toward zero; null where a division is as good.
  llvm::Value* DivideByConstant(llvm::Value* x, const llvm::APInt& divisor);
  llvm::Value* IntegerDivide(DType type, bool remainder, llvm::Value* x, llvm::Value* y);
  llvm::Value* FloatRemainder(llvm::Value* x, llvm::Value* y);
  llvm::Value* PerLane(llvm::Value* x, llvm::Value* y,
                       llvm::function_ref<llvm::Value*(llvm::Value*, llvm::Value*)> scalar);
  llvm::Value* MinMax(DType type, bool max, llvm::Value* x, llvm::Value* y);
  llvm::Value* Sign(DType type, llvm::Value* x);
  llvm::Value* Shift(const kir::Node& node, llvm::Value* x, llvm::Value* amount);
  llvm::Value* Compare(uint8_t how, DType type, llvm::Value* x, llvm::Value* y);
  llvm::Value* Convert(DType from, DType to, llvm::Value* x);
  llvm::Value* Bitcast(DType from, DType to, llvm::Value* x);
  llvm::Value* ReducePrecision(DType type, uint32_t attr, llvm::Value* x);
  /// An integer kept within a type narrower than a byte.
  llvm::Value* Wrap(DType type, llvm::Value* x);
  /// f32 -> the nearest value of a narrow float type, in register form.
  llvm::Value* RoundTo(DType type, llvm::Value* x);
  /// The register form of an f16 or f8 with these bits, which are remembered.
  llvm::Value* Widened(DType type, llvm::Value* bits);

  llvm::Value* Bf16Bits(llvm::Value* x);
  llvm::Value* Bf16FromBits(llvm::Value* bits);
  /// Of f32 values that bf16 can hold.
  llvm::Value* UpperHalf(llvm::Value* x);
  llvm::Value* F16Bits(llvm::Value* x);
  llvm::Value* F16FromBits(llvm::Value* bits);
  llvm::Value* F8Bits(DType type, llvm::Value* x);
  llvm::Value* F8FromBits(DType type, llvm::Value* bits);

  /// The bits in `type` of a value that was just widened from them, or chosen among such values; null for others. What
  /// is only moved keeps its bits so, those of a signalling NaN too, and needs no instruction to get them back.
  llvm::Value* KnownBits(DType type, llvm::Value* value);

  llvm::IRBuilder<>& b_;
  isa::IsaLevel isa_;
  bool rounds_to_bf16_;  ///< There is an instruction for it.
  Status status_;
  llvm::DenseMap<std::pair<DType, llvm::Value*>, llvm::Value*> bits_;  ///< KnownBits found, or null.
};

/// pred, f16 and so on: what arithmetic on `type` is rounded to after being computed in f32; false for f32 and f64.
bool IsNarrowFloat(DType type);

}  // namespace tenon::emit_llvm
