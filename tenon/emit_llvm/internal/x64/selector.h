#pragma once

// Selection in one pass over the blocks, in order. A value has one register per 512 bits; what is only an address, a
// fused comparison or a load that its one user reads itself has none.

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <array>
#include <map>
#include <span>
#include <string>
#include <tuple>

#include "tenon/emit_llvm/internal/x64/encodings.h"
#include "tenon/emit_llvm/internal/x64/ops.h"
#include "tenon/isa/isa.h"

namespace tenon::emit_llvm::x64 {

class Selector {
 public:
  /// What all lanes of a vector are, if it is a constant; else null.
  static const llvm::APInt* NumberOf(const llvm::Value* v);

  Selector(const llvm::Function& function, bool avx2, const isa::IsaExtras& extras, std::string* reason)
      : fn_(function), avx2_(avx2), extras_(extras), reason_(reason) {}
  std::optional<Function> Run();

 private:
  using Parts = llvm::SmallVector<Reg, 2>;
  /// How a value lies in registers.
  struct Shape {
    enum class Kind : uint8_t { kInt, kScalarFloat, kVector, kMask } kind = Kind::kInt;
    bool is_float = false;
    unsigned bits = 0;  ///< Of an element.
    unsigned lanes = 1;
    unsigned parts = 1;
    uint8_t len = 0;  ///< Of a part.
    bool wide() const { return bits == 64; }
    bool scalar() const { return kind == Kind::kScalarFloat; }
    unsigned bytes() const { return bits / 8; }
    uint8_t part_bytes() const { return static_cast<uint8_t>(scalar() ? bytes() : 16u << len); }
    unsigned part_lanes() const { return lanes / parts; }
  };
  struct Address {
    Mem mem;
    bool ok = true;
  };

  // --- select.cc: frame of the pass
  bool Fail() {
    failed_ = true;
    return false;
  }
  void MarkAddresses();
  void MarkAddress(const llvm::Value* pointer, const llvm::BasicBlock* user);
  void Visit(const llvm::Instruction& inst);

  void FindDominators();
  bool Dominates(uint32_t a, uint32_t b) const;
  /// Whether an equal instruction went before, whose result serves again.
  bool SeenBefore(const llvm::Instruction& inst);
  const llvm::Value* Canonical(const llvm::Value* v) const;
  void RemoveUnused();
  Shape ShapeOf(const llvm::Type* type);
  Inst& Add(Inst inst) {
    Op vex;
    if (avx2_ && inst.kind == Kind::kEncoded && inst.op.space == Space::kEvex && !VexOf(inst.op, &vex)) Fail();
    f_.blocks[block_].code.push_back(std::move(inst));
    return f_.blocks[block_].code.back();
  }
  Reg New(RegClass c) { return f_.NewReg(c); }
  Reg NewMask() { return New(avx2_ ? RegClass::kVec : RegClass::kMask); }
  unsigned MaxBits() const { return avx2_ ? 256 : 512; }
  const Parts& Result(const llvm::Value& v);
  Parts Get(const llvm::Value* v);
  Reg One(const llvm::Value* v);
  /// Makes `v` another name of `parts`.
  void Alias(const llvm::Value& v, const Parts& parts);
  void Copy(Reg to, Reg from);
  static const llvm::ConstantInt* Int(const llvm::Value* v) { return llvm::dyn_cast<llvm::ConstantInt>(v); }
  static bool Int32(const llvm::Value* v, int32_t* value);
  /// What all lanes are, where that is a number that no mode of the machine takes for another one; else null.
  static const llvm::ConstantFP* KnownNumber(const llvm::Value* v);

  // --- select.cc: addresses, memory
  Address Resolve(const llvm::Value* pointer, const llvm::BasicBlock* user);
  /// Moves the place; Fails where the machine's 32 bits do not hold it.
  void Displace(Mem& mem, int64_t by);
  void SetMem(Inst& inst, const llvm::Value* pointer, unsigned bytes, int32_t extra = 0);
  void SetIndex(Mem& mem, const llvm::Value* index, uint64_t scale);
  void VisitGep(const llvm::GetElementPtrInst& gep);
  void VisitLoad(const llvm::LoadInst& load);
  void EmitLoad(const llvm::LoadInst& load);
  void VisitStore(const llvm::StoreInst& store);
  bool CanDefer(const llvm::LoadInst& load) const;
  /// Whether what was read may be read as late as there, in the same block.
  static bool StaysUntil(const llvm::LoadInst& load, const llvm::Instruction* there);
  /// What is made of the integer alone and stored where it was: memory and all in one instruction; null: something
  /// else becomes of it.
  const llvm::BinaryOperator* UpdateOf(const llvm::LoadInst& load) const;

  // --- select_mask.cc
  /// Bits of a mask's lane with AVX2.
  unsigned MaskBits(unsigned lanes);
  Shape MaskShape(unsigned lanes);
  Reg MaskOp(Op k, uint8_t vector, Reg a, Reg b);
  Reg MaskAnd(Reg a, Reg b);
  Reg MaskOr(Reg a, Reg b);
  Reg MaskXor(Reg a, Reg b);
  Reg MaskAndNot(Reg a, Reg b);
  Reg MaskNot(Reg a);
  /// Whether both are alike.
  Reg MaskEqual(Reg a, Reg b);
  /// AVX-512: of bits.
  Reg MaskFromGpr(Reg gpr);
  /// With AVX2: of 8 or 16 lanes, from as many bits.
  Reg MaskFromBits(Reg gpr, unsigned lanes);
  /// All lanes or none.
  Reg MaskFromCondition(Reg condition);
  Reg GprFromMask(Reg mask, unsigned lanes);
  /// Sets the flags: equal when no lane is on.
  void TestMask(Reg mask, unsigned lanes);
  /// The same of a vector of i1, of any number of lanes.
  void TestAny(const llvm::Value* mask);
  void ExtractFromMask(const llvm::ExtractElementInst& extract, unsigned lanes);
  /// The mask of a part's lanes; with AVX2 as wide as they are.
  Reg MaskOfPart(Reg mask, unsigned part, const Shape& shape);
  Reg JoinMasks(const Parts& parts, const Shape& shape);
  Reg JoinedMask(const Parts& parts, const Shape& shape);
  /// The mask without what stands above its lanes.
  Reg OnlyLanes(Reg mask, unsigned lanes);
  /// to = mask ? x : 0
  void ZeroUnless(Reg to, const Shape& shape, Reg mask, Reg x);
  void Blend(Reg to, const Shape& shape, Reg mask, Reg yes, Reg no);
  void SelectMask(Reg to, Reg mask, Reg yes, Reg no);
  void VisitMaskBinary(const llvm::BinaryOperator& op);
  void VisitMaskCompare(const llvm::ICmpInst& cmp);
  void TruncateToMask(const llvm::CastInst& cast, const Shape& from);
  void ShuffleMask(const llvm::ShuffleVectorInst& shuffle, unsigned from_lanes);

  // --- select_avx2.cc
  Shape IntShape(unsigned bits, unsigned lanes) const;
  /// 64-bit lanes as `imm` names them (vpermq).
  Reg PermuteBlocks(Reg x, int imm);
  void PermuteBlocksTo(Reg to, Reg x, int imm);
  /// Lanes of fewer bits: truncated, or all ones and zeros kept as they are.
  /// `fits`: the numbers are known to.
  Parts Narrow(Parts x, unsigned lanes, unsigned from, unsigned to, bool is_mask, bool fits = false);
  /// The vector from byte `at` on, in the lower bytes of a register.
  Reg BytesFrom(const Parts& x, unsigned at);
  /// One part of a vector of wider lanes.
  void WidenTo(Reg to, const Parts& x, unsigned from, const Shape& shape, unsigned part, bool is_signed);
  bool VisitCastAvx2(const llvm::CastInst& cast, const Shape& from, const Shape& to);
  static Op EqualOp(unsigned bits);
  Reg GreaterAvx2(const Shape& shape, Reg x, Reg y);
  Reg CompareIntsAvx2(llvm::CmpInst::Predicate p, const Shape& shape, Reg x, Reg y);
  /// `y_is_narrow`: its upper halves are zero.
  void MultiplyLongs(Reg to, const Shape& shape, Reg x, Reg y, bool y_is_narrow);
  void UnsignedToFloatAvx2(const llvm::CastInst& cast, const Shape& to);
  /// to = (x ^ m) - m, of 64-bit numbers: negates where m is all ones, and extends the sign where m is its only bit.
  void FlipAndSubtract(Reg to, const Shape& shape, Reg m, Reg x);
  void ExtremeLongs(Reg to, const Shape& shape, llvm::CmpInst::Predicate first, Reg x, Reg y);
  void FloatMinMaxAvx2(Reg to, const Shape& shape, Reg a, Reg b, bool max);
  void TwoSourceShuffleAvx2(Reg to, llvm::ArrayRef<int> mask, const Shape& shape, Reg a, Reg b);

  // --- select_gather.cc
  /// Where the lanes of a gather or scatter lie: `base` + `scale` times an offset each, of 32 or 64 bits.
  struct LaneAddresses {
    Reg base = 0;
    uint8_t scale = 1;
    Shape shape;  ///< Of the offsets.
    Parts offsets;
  };
  bool LanePointers(const llvm::Value* pointers, LaneAddresses* at);
  /// Offsets of 32 bits made longer, and scaled, for gathers and scatters alone, which do so by themselves.
  static bool FoldsIntoLanes(const llvm::Instruction& inst);
  /// Instructions that move all lanes of `shape`.
  static unsigned Pieces(const Shape& shape, const LaneAddresses& at);
  /// The offsets of the lanes that one instruction moves, and their mask.
  Reg PieceOffsets(const LaneAddresses& at, unsigned piece, const Shape& shape);
  Reg PieceMask(Reg mask, unsigned piece, const Shape& shape, const LaneAddresses& at);
  Inst LaneMove(bool scatter, const Shape& shape, const LaneAddresses& at, unsigned piece);
  void VisitGather(const llvm::IntrinsicInst& call);
  void VisitScatter(const llvm::IntrinsicInst& call);

  // --- select_divide.cc
  /// The number in 32 bits at least.
  Reg Widened(const llvm::Value* v, unsigned bits, bool is_signed);
  Reg DivideByConstant(Reg x, const llvm::APInt& divisor);
  void CountBits(const llvm::IntrinsicInst& call);

  // --- select_int.cc
  /// Memory and `made`, of what UpdateOf gave, in one instruction.
  void Update(const llvm::StoreInst& store, const llvm::BinaryOperator& made, const Shape& shape);
  void VisitIntBinary(const llvm::BinaryOperator& op, const Shape& shape);
  void VisitDivide(const llvm::BinaryOperator& op, const Shape& shape);
  /// A rotation to the left by a constant, written as two shifts.
  struct Turn {
    const llvm::Value* value;
    uint64_t by;
  };
  std::optional<Turn> RotationOf(const llvm::BinaryOperator& op) const;
  bool Rotation(const llvm::BinaryOperator& op, const Shape& shape);
  void Shift(const llvm::BinaryOperator& op, const Shape& shape);
  void VisitICmp(const llvm::ICmpInst& cmp);
  bool Fused(const llvm::Instruction& condition) const;
  /// Sets the flags; the condition under which `condition` holds.
  uint8_t EmitCondition(const llvm::Value* condition);
  /// Whether the upper half of the register that holds these 32 bits is known to be zero.
  bool IsZeroAbove(const llvm::Value* v) const;
  void EmitCompare(const llvm::Value* a, const llvm::Value* b, unsigned bits, bool is_signed);
  void SetFromFlags(uint8_t cc, Reg to);
  Reg Immediate(int64_t value);
  void MinMax(const llvm::IntrinsicInst& call, uint8_t cc);
  /// to = cc ? yes : no
  void ConditionalMove(uint8_t cc, bool wide, Reg to, Reg yes, Reg no);
  bool SelectOfExtreme(const llvm::SelectInst& select, const Shape& shape);
  void VisitSelect(const llvm::SelectInst& select);
  void VisitCast(const llvm::CastInst& cast);
  void VisitVectorCast(const llvm::CastInst& cast, const Shape& from, const Shape& to);
  void Extend(Reg to, Reg from, unsigned from_bits, bool is_signed, bool wide);

  // --- select_vector.cc
  /// Where the bytes lie in the constants from now on, at a multiple of their number.
  int32_t InPool(const std::string& bytes);
  Reg ConstantReg(std::string bytes, unsigned element, uint8_t len);
  Parts ConstantParts(const llvm::Constant& constant);
  /// Those of lanes, masks and scalars of floats.
  Parts LaneConstantParts(const llvm::Constant& constant, const Shape& shape);
  Reg SplatConstant(uint64_t bits, unsigned element);
  /// AVX-512: a mask that is known.
  Reg MaskConstant(uint64_t mask);
  Reg Rvm(Op op, const Shape& shape, Reg a, Reg b, int imm = -1);
  void RvmTo(Reg to, Op op, const Shape& shape, Reg a, Reg b, int imm = -1);
  void RmTo(Reg to, Op op, uint8_t len, Reg from, unsigned mem_bytes, int imm = -1);
  void Masked(Reg to, Op op, const Shape& shape, Reg mask, Reg tied, Reg a, Reg b);
  void VisitVectorBinary(const llvm::BinaryOperator& op, const Shape& shape);
  void VisitVectorCompare(const llvm::CmpInst& cmp, const Shape& shape);
  void MultiplyBytes(Reg to, const Shape& shape, Reg a, Reg b);
  void ShiftImmediate(Reg to, const Shape& shape, unsigned opcode, Reg x, unsigned by);
  void NarrowFloats(Reg to, Reg from, uint8_t len, const llvm::Type& type);
  /// to = high : low, which have half of the length each.
  void JoinHalves(Reg to, uint8_t len, Reg low, Reg high);
  void VisitNeg(const llvm::UnaryOperator& op, const Shape& shape);
  void Broadcast(const llvm::Value& result, const llvm::Value* scalar, const Shape& shape);
  void VisitShuffle(const llvm::ShuffleVectorInst& shuffle);
  /// Pairs interleaved within 128-bit blocks; false when it is something else.
  bool Unpack(Reg to, llvm::ArrayRef<int> mask, const Shape& shape, Reg a, Reg b);
  void TwoSourceShuffle(Reg to, llvm::ArrayRef<int> mask, const Shape& shape, Reg a, Reg b);
  /// Each register of the result of at most two others; false when it is something else.
  bool ShuffleParts(const llvm::ShuffleVectorInst& shuffle, const Shape& from, const Shape& to);
  /// Whether each lane comes of the first source's same 128-bit block.
  static bool StaysInBlocks(llvm::ArrayRef<int> mask, const Shape& shape);
  /// Lanes of any width as bytes, from anywhere in the registers.
  void ShuffleBytes(Reg to, llvm::ArrayRef<int> mask, const Shape& shape, Reg a, Reg b);
  /// The register's blocks of 128 bits, in that order.
  Reg BlocksOf(Reg r, const Shape& shape, const std::array<int, 4>& from);
  /// AVX2: lanes of 32 or 64 bits of one register of 256.
  void PermuteTo(Reg to, const Shape& shape, llvm::ArrayRef<int> lanes, Reg x);
  /// AVX2: pairs of lanes, each of one 128-bit block; false when it is something else.
  /// Of each lane the element of `a` and then `b` that its key counts, in AVX-512; `b` is `a` where that is all.
  void PermuteBy(Reg to, const Shape& s, Reg keys, Reg a, Reg b);
  /// The permutations of whole registers, of one or of two, whose lanes are chosen at run time.
  void PermuteByKeys(const llvm::IntrinsicInst& call);
  bool PairsOfBoth(Reg to, llvm::ArrayRef<int> mask, const Shape& shape, Reg a, Reg b);
  /// What has no better way: lane by lane.
  void ShuffleThroughMemory(const llvm::ShuffleVectorInst& shuffle, const Shape& from, const Shape& to);
  void VisitInsert(const llvm::InsertElementInst& insert);
  void VisitExtract(const llvm::ExtractElementInst& extract);
  Reg Half(Reg from, uint8_t len);
  /// A load whose lanes are made wider as they are read.
  bool WidenFromMemory(const llvm::CastInst& cast, const Shape& from, const Shape& to);
  static Op WidenOp(unsigned from, unsigned to, bool is_signed);
  /// What a truncation gives back unchanged; null when there is no such thing.
  const llvm::Value* ReturnTrip(const llvm::CastInst& cast) const;

  // --- select_logic.cc
  class Logic;
  /// Or comes into one when it is asked for.
  bool HasRegister(const llvm::Value* v) const;
  /// An expression of and, or, xor over at most three values, the operands' own operations included, in one
  /// instruction.
  bool TernaryLogic(const llvm::BinaryOperator& op, const Shape& shape);

  // --- select_call.cc
  void VisitCall(const llvm::CallInst& call);
  void VisitFma(const llvm::IntrinsicInst& call, const Shape& shape);
  void VisitFloatMinMax(const llvm::IntrinsicInst& call, const Shape& shape, bool max);
  /// Bytes that a mask lets through, where these are the first ones, of one register, and as many as one move moves; 0
  /// where they are not.
  static unsigned FirstBytes(const llvm::Value* mask, const Shape& shape);
  void VisitMaskedLoad(const llvm::IntrinsicInst& call);
  void VisitMaskedStore(const llvm::IntrinsicInst& call);
  void VisitToIntSaturating(const llvm::IntrinsicInst& call);
  /// Ones of each lane.
  void CountBitsOfLanes(const llvm::IntrinsicInst& call, const Shape& shape);

  const llvm::Function& fn_;
  const bool avx2_;
  const isa::IsaExtras extras_;
  std::string* const reason_;
  Function f_;
  uint32_t block_ = 0;
  const llvm::BasicBlock* ir_block_ = nullptr;
  bool failed_ = false;
  llvm::DenseMap<const llvm::Value*, Parts> values_;
  llvm::DenseMap<const llvm::BasicBlock*, uint32_t> ids_;
  llvm::DenseSet<const llvm::Value*> materialised_;  ///< GEPs that need a register.
  llvm::DenseMap<const llvm::Value*, int32_t> frame_;
  llvm::DenseSet<const llvm::Value*> deferred_;
  llvm::DenseSet<const llvm::Value*> updated_;  ///< Loads and what is made of them that become part of a store.
  llvm::DenseSet<const llvm::Value*> folded_;   ///< Loads that have become operands: no register holds them.
  std::map<std::pair<std::string, uint8_t>, Reg> constants_;
  std::map<uint64_t, Reg> mask_constants_;
  llvm::DenseMap<const llvm::Constant*, Parts> constant_parts_;
  llvm::DenseSet<Reg> constant_regs_;
  llvm::DenseMap<std::tuple<unsigned, const void*, const llvm::Value*, const llvm::Value*, const llvm::Value*>,
                 std::pair<const llvm::Instruction*, uint32_t>>
      seen_;                         ///< Instructions by what they compute, and their blocks.
  std::vector<uint32_t> dominator_;  ///< Of each block, the nearest other one that every way to it passes.
  uint32_t run_start_ = 0;           ///< First of the blocks that follow each other without another way in.
  llvm::DenseMap<const llvm::Value*, const llvm::Value*>
      canonical_;                                         ///< Of values that have another's registers, that other.
  llvm::DenseMap<const llvm::Value*, Reg> scalar_masks_;  ///< Comparisons of scalars: bit 0 of these.
  std::map<std::pair<const llvm::Value*, uint64_t>, Reg> scaled_;
  struct Joined {
    unsigned bits;  ///< Of the lanes that were compared.
    Parts parts;
  };
  /// Of floats that were made narrower, the parts of half a register each that those of a register were put together
  /// of.
  llvm::DenseMap<const llvm::Value*, Parts> rounded_;
  llvm::DenseMap<Reg, uint64_t> zero_bytes_;  ///< Of vectors that were put together, bytes that are zero.
  llvm::DenseMap<Reg, Joined> joined_;        ///< What masks of several registers of lanes were made of.
};

}  // namespace tenon::emit_llvm::x64
