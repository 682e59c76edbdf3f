#pragma once

/// Scalar operations on registers. A register holds pred as a bool; an integer of at most 32 bits as a u32 with its
/// sign or zeros above it, others as a u64; a float of at most 32 bits as the f32 of the same value, f64 as itself.

#include <map>
#include <set>
#include <span>
#include <utility>

#include "tenon/emit_spirv/internal/writer.h"
#include "tenon/kir/kir.h"
#include "tenon/target/target.h"

namespace tenon::emit_spirv {

/// Of at most 16 bits: computed as f32 and rounded after each operation.
inline bool IsNarrowFloat(DType type) { return IsFloat(type) && type != DType::kF32 && type != DType::kF64; }

/// The sign's bit in a word of so many.
constexpr uint64_t SignBit(int bits) { return uint64_t{1} << (bits - 1); }

class Scalars {
 public:
  Scalars(Writer& writer, const target::Target& target) : w_(writer), target_(target), device_(target.device) {}

  /// What went wrong first: types and operations that the device has no form of.
  const Status& status() const { return status_; }
  void Fail(Status status) {
    if (status_.ok()) status_ = std::move(status);
  }

  Id RegisterType(DType type);
  /// 1 for pred, 32 or 64.
  static int RegisterBits(DType type);
  Id Literal(DType type, uint64_t bits);
  /// The operation of a node that is neither a leaf nor kMath; `in_type`: of its last operand.
  Id Lower(const kir::Node& node, DType in_type, std::span<const Id> in);

  /// What lies in buffers: f32, f64, or an integer of the element's width.
  Id MemoryType(DType type);
  Id FromMemory(DType type, Id memory);
  Id ToMemory(DType type, Id value);
  /// The same from and to the low bits of a word (u32 or u64), with zeros above them.
  Id FromWord(DType type, Id word);
  Id ToWord(DType type, Id value);
  /// The same in words of local memory, which hold registers (pred as a u32).
  Id LocalType(DType type) { return type == DType::kPred ? w_.U32() : RegisterType(type); }
  Id FromLocal(DType type, Id word);
  Id ToLocal(DType type, Id value);

  /// Zero of the same sign for a subnormal f32 or f64, where the device keeps these.
  Id Flushed(DType type, Id value);

  /// The value of an integer register as a u64, or the low 32 bits of one.
  Id Wide(DType type, Id value);
  Id Low(DType type, Id value);
  /// A u32 as a signed number to a u64.
  Id SignExtend(Id word);

  // What the rest of the emitter needs besides, on u32 or u64 (`bits`).
  Id Int(int bits, Spv op, Id a, Id b) { return w_.Do(op, w_.Int(bits), {a, b}); }
  Id Compare(Spv op, Id a, Id b) { return w_.Do(op, w_.Bool(), {a, b}); }
  /// A condition as no compiler knows it: one that knows that a branch was taken does not know this.
  Id Again(Id condition);
  Id And(Id a, Id b) { return w_.Do(Spv::LogicalAnd, w_.Bool(), {a, b}); }
  Id Select(Id type, Id condition, Id yes, Id no) { return w_.Do(Spv::Select, type, {condition, yes, no}); }

 private:
  // scalars.cc
  Id LowerOperation(const kir::Node& node, DType in_type, std::span<const Id> in);
  Id LiteralValue(DType type, uint64_t bits);
  Id Float(const kir::Node& node, std::span<const Id> in);
  Id Integer(const kir::Node& node, std::span<const Id> in);
  Id Pred(const kir::Node& node, std::span<const Id> in);
  Id FloatMinMax(int bits, bool max, Id a, Id b);
  Id FloatSign(int bits, Id x);
  Id Truncate(int bits, Id x);
  Id RoundToWhole(kir::Op op, int bits, Id x);
  Id Divide(DType type, bool remainder, Id a, Id b);
  Id Shift(const kir::Node& node, Id x, Id amount);
  Id Clz(DType type, Id x);
  Id Popcount(DType type, Id x);
  Id CompareValues(uint8_t how, DType type, Id a, Id b);
  /// Back into the range of an integer narrower than its register.
  Id Wrap(DType type, Id x);

  // scalars_convert.cc
  Id Convert(DType from, DType to, Id x);
  Id FloatToInt(DType from, DType to, Id x);
  Id ReducePrecision(DType type, uint32_t attr, Id x);
  /// Zero-extended bits of a value as a u32 or u64, and the value of such bits.
  Id ToBits(DType type, Id x);
  Id FromBits(DType type, Id bits);
  /// The f32 of the nearest value of a narrower float type.
  Id RoundTo(DType type, Id x);
  Id Narrow(DType type, Id x);
  Id Widen(DType type, Id bits);
  Id F8Narrow(DType type, Id x);
  Id F8Widen(DType type, Id bits);

  // scalars_functions.cc
  Id Fma(int bits, Id a, Id b, Id c, bool exact_product);
  /// a * b + c without a rounded product, of targets that have no such operation.
  Id AddProduct(int bits, Id a, Id b, Id c);
  Id FmaByF64();
  Id FmaOfF64();
  Id FloatDivide(int bits, Id a, Id b);
  Id FloatSqrt(int bits, Id x);
  Id FloatRemainder(int bits);

  bool KeepsSubnormals(int bits) const { return bits == 64 ? device_.keeps_subnormals_f64 : device_.keeps_subnormals; }

  // Shorthand on u32 (or u64 with `64`).
  Id U(uint32_t value) { return w_.C32(value); }
  Id I(Spv op, Id a, Id b) { return w_.Do(op, w_.U32(), {a, b}); }
  Id F(int bits, Spv op, Id a, Id b) { return w_.Exact(op, w_.Float(bits), {a, b}); }
  Id FCompare(Spv op, Id a, Id b) { return w_.Exact(op, w_.Bool(), {a, b}); }
  Id Cast(Id type, Id x) { return w_.Do(Spv::Bitcast, type, {x}); }
  /// Integer register of as many bits.
  Id AsInt(int bits, Id x) { return Cast(w_.Int(bits), x); }
  Id AsFloat(int bits, Id x) { return Cast(w_.Float(bits), x); }
  /// 0, +0 and -0 as no compiler knows them.
  Id ZeroWord(int bits);
  Id Zero(int bits, bool negative);
  /// The bit of the sign likewise: drivers take operations with it for negations and absolute values, of what they may
  /// believe to be no infinity or NaN.
  Id SignWord(int bits);
  Id Magnitude(int bits, Id x);
  /// Whether it follows from literals alone.
  bool IsConstant(Id id) const { return constants_.contains({w_.function(), id}); }
  /// A float of which compilers do not see that it is zero.
  Id Opaque(int bits, Id x);

  Writer& w_;
  const target::Target& target_;
  const target::DeviceFacts& device_;
  Status status_;
  std::map<std::pair<DType, Id>, Id> known_bits_;  ///< Of narrow floats that were widened from them.
  std::map<std::pair<Id, int>, Id> zeros_;         ///< By function.
  std::set<std::pair<Id, Id>> constants_;          ///< By function: values that follow from literals alone.
  std::map<int, Id> functions_;
};

}  // namespace tenon::emit_spirv
