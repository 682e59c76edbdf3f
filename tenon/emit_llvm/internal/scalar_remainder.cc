// Remainders of floats, which no instruction gives.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include <cmath>
#include <utility>

#include "tenon/emit_llvm/internal/scalar_lowering.h"

namespace tenon::emit_llvm {

using llvm::Value;

namespace {

/// What the exact steps need to know of f32 and f64.
struct FloatForm {
  unsigned bits;
  unsigned mantissa;   ///< Bits stored of it.
  unsigned quotient;   ///< Quotients below 2^quotient are at most one too large, and exact once truncated.
  int least_divisor;   ///< From 2^this on no step meets subnormal numbers.
  int small, upscale;  ///< Operands below 2^small are brought up by 2^upscale.
};
constexpr FloatForm kF32Form{32, 23, 21, -100, -40, 64};
constexpr FloatForm kF64Form{64, 52, 50, -960, -800, 256};

}  // namespace

// With a fused multiply-add, a - trunc(a / d) * d of numbers without sign is exact as long as the quotient has fewer
// bits than a mantissa: it is short of the remainder by d at most, where the division rounded up to the next integer.
// Larger quotients take several such steps with multiples of d, behind a branch.
Value* ScalarLowering::FloatRemainder(Value* x, Value* y) {
  llvm::Type* const element = x->getType()->getScalarType();
  if (isa_ < isa::IsaLevel::kAvx2 || !(element->isFloatTy() || element->isDoubleTy())) {
    // canonicalize brings subnormals to what the thread's mode makes of them, as any arithmetic would.
    auto canonical = [&](Value* v) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::canonicalize, v); };
    return PerLane(x, y, [&](Value* a, Value* d) { return canonical(b_.CreateFRem(canonical(a), canonical(d))); });
  }
  const FloatForm form = element->isFloatTy() ? kF32Form : kF64Form;
  llvm::Type* const type = x->getType();
  const auto constant = [&](double v) { return llvm::ConstantFP::get(type, v); };
  const auto power = [&](int e) { return constant(std::ldexp(1.0, e)); };
  const auto magnitude = [&](Value* v) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v); };
  Value* const zero = constant(0);
  Value* const infinity = llvm::ConstantFP::getInfinity(type);
  // The remainder of a by d, and the quotient.
  const auto step = [&](Value* a, Value* d) {
    Value* q = b_.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, b_.CreateFDiv(a, d));
    Value* r = b_.CreateIntrinsic(llvm::Intrinsic::fma, {type}, {b_.CreateFNeg(q), d, a});
    return std::pair(b_.CreateSelect(b_.CreateFCmpOLT(r, zero), b_.CreateFAdd(r, d), r), q);
  };
  Value* const a = magnitude(x);
  Value* const d = magnitude(y);
  const auto [quick, quotient] = step(a, d);
  Value* plain = b_.CreateFCmpOLT(quotient, power(static_cast<int>(form.quotient)));
  plain = b_.CreateAnd(plain, b_.CreateFCmpOGE(d, power(form.least_divisor)));
  plain = b_.CreateAnd(plain, b_.CreateFCmpOLT(d, infinity));

  llvm::BasicBlock* const from = b_.GetInsertBlock();
  const auto block = [&](const char* name) {
    return llvm::BasicBlock::Create(b_.getContext(), name, from->getParent());
  };
  llvm::BasicBlock* const rare = block("long_remainder");
  llvm::BasicBlock* const loop = block("reduce");
  llvm::BasicBlock* const done = block("reduced");
  llvm::BasicBlock* const exit = block("remainder");
  Value* const odd = b_.CreateNot(plain);
  b_.CreateCondBr(LanesOf(x) == 1 ? odd : b_.CreateOrReduce(odd), rare, exit);

  b_.SetInsertPoint(rare);
  // Lanes without a remainder, and those with an infinite divisor, leave the loop at once.
  Value* const none = b_.CreateOr(b_.CreateFCmpUEQ(a, infinity), b_.CreateFCmpUEQ(d, zero));
  Value* const whole = b_.CreateFCmpOEQ(d, infinity);
  Value* const idle = b_.CreateOr(none, whole);
  Value* const a0 = b_.CreateSelect(idle, zero, a);
  Value* const d0 = b_.CreateSelect(idle, constant(1), d);
  b_.CreateBr(loop);
  b_.SetInsertPoint(loop);
  llvm::PHINode* const rest = b_.CreatePHI(type, 2);
  llvm::PHINode* const divisor = b_.CreatePHI(type, 2);
  llvm::PHINode* const back = b_.CreatePHI(type, 2);
  // Small numbers grow, once: a step meets no subnormal ones then.
  Value* small = b_.CreateAnd(b_.CreateFCmpOLT(rest, power(form.small)), b_.CreateFCmpOLT(divisor, power(form.small)));
  small = b_.CreateAnd(small, b_.CreateFCmpOEQ(back, constant(1)));
  const auto grown = [&](Value* v) { return b_.CreateSelect(small, b_.CreateFMul(v, power(form.upscale)), v); };
  Value* const up = grown(rest);
  Value* const by = grown(divisor);
  Value* const down = b_.CreateSelect(small, power(-form.upscale), back);
  // The multiple of the divisor, by a power of two, that makes a short quotient. A divisor that is still small may be
  // subnormal: its exponent is that of the number that it would grow to.
  Value* const tiny = b_.CreateFCmpOLT(by, power(form.small));
  Value* const normal = b_.CreateSelect(tiny, b_.CreateFMul(by, power(form.upscale)), by);
  const auto exponent = [&](Value* v) {
    return b_.CreateLShr(b_.CreateBitCast(v, IntOf(x, form.bits)), form.mantissa);
  };
  const auto integer = [&](int64_t v) { return Int(exponent(zero), static_cast<uint64_t>(v)); };
  Value* const shift = b_.CreateSelect(tiny, integer(form.upscale), integer(0));
  Value* const apart = b_.CreateAdd(b_.CreateSub(exponent(up), exponent(normal)), shift);
  Value* const most = integer(static_cast<int64_t>(form.quotient) - 1);
  Value* const far = b_.CreateICmpSGT(apart, most);
  Value* const steps = b_.CreateSub(b_.CreateSub(apart, most), shift);
  Value* const multiple = b_.CreateBitCast(
      b_.CreateAdd(b_.CreateBitCast(normal, IntOf(x, form.bits)), b_.CreateShl(steps, form.mantissa)), type);
  Value* const next = step(up, b_.CreateSelect(far, multiple, by)).first;
  b_.CreateCondBr(LanesOf(x) == 1 ? far : b_.CreateOrReduce(far), loop, done);
  rest->addIncoming(a0, rare);
  rest->addIncoming(next, loop);
  divisor->addIncoming(d0, rare);
  divisor->addIncoming(by, loop);
  back->addIncoming(constant(1), rare);
  back->addIncoming(down, loop);

  b_.SetInsertPoint(done);
  Value* const product = b_.CreateFMul(x, y);
  // Lanes with an infinite divisor have a factor of one, which flushes them, too.
  Value* slow = b_.CreateFMul(b_.CreateSelect(whole, a, next), down);
  slow = b_.CreateSelect(none, b_.CreateFDiv(product, product), slow);
  Value* const chosen = b_.CreateSelect(plain, quick, slow);
  b_.CreateBr(exit);

  b_.SetInsertPoint(exit);
  llvm::PHINode* const result = b_.CreatePHI(type, 2);
  result->addIncoming(quick, from);
  result->addIncoming(chosen, done);
  Value* const holds = b_.CreateFCmpUNO(result, result);
  return b_.CreateSelect(holds, result, b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, result, x));
}

}  // namespace tenon::emit_llvm
