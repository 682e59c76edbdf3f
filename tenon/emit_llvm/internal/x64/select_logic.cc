// And, or, xor of three values at once, which AVX-512 has one instruction for, whatever the expression.
#include <llvm/IR/Constants.h>

#include <algorithm>
#include <array>

#include "tenon/emit_llvm/internal/x64/selector.h"

namespace tenon::emit_llvm::x64 {

using llvm::BinaryOperator;
using llvm::dyn_cast;
using llvm::Instruction;
using llvm::Value;

namespace {

/// The results of the three operands, first to last, for all eight values of their bits.
constexpr std::array<uint8_t, 3> kTables = {0xf0, 0xcc, 0xaa};

bool IsLogic(unsigned opcode) {
  return opcode == Instruction::And || opcode == Instruction::Or || opcode == Instruction::Xor;
}

}  // namespace

/// An expression of and, or, xor and its operands, of which there are at most three.
class Selector::Logic {
 public:
  struct Leaf {
    const Value* value = nullptr;  ///< Null for a number.
    unsigned shift = 0;            ///< A shift's opcode: of the value by `by`. 0 for the value as it is.
    uint64_t by = 0;               ///< Or the number, in all lanes.
    bool operator==(const Leaf&) const = default;
  };

  Logic(const Selector& selector, const BinaryOperator& root, unsigned bits)
      : selector_(selector), root_(root), ones_(bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1) {}

  /// Whether the root and what its operands are, so many operations deep, have few enough operands.
  bool Reach(unsigned left, unsigned right) {
    leaves_.clear();
    spared_ = 0;
    const std::optional<uint8_t> a = TableOf(root_.getOperand(0), left), b = TableOf(root_.getOperand(1), right);
    if (!a || !b || spared_ == 0) return false;
    table_ = Met(root_.getOpcode(), *a, *b);
    return true;
  }
  const llvm::SmallVector<Leaf, 3>& leaves() const { return leaves_; }
  /// Of the operands in the order `order`, an index into the leaves each.
  uint8_t Table(const std::array<size_t, 3>& order) const {
    uint8_t table = 0;
    for (unsigned i = 0; i < 8; ++i) {
      unsigned from = 0;  // The same bits, in the order of the leaves.
      for (size_t k = 0; k < 3; ++k) from |= (i >> (2 - k) & 1) << (2 - order[k]);
      table |= static_cast<uint8_t>((table_ >> from & 1) << i);
    }
    return table;
  }

 private:
  static uint8_t Met(unsigned opcode, uint8_t a, uint8_t b) {
    return opcode == Instruction::And ? a & b : opcode == Instruction::Or ? a | b : a ^ b;
  }
  /// An operation of the same block that only the expression needs, and that is not part of one instruction already.
  const BinaryOperator* Own(const Value* v) const {
    auto* op = dyn_cast<BinaryOperator>(v);
    const bool own = op != nullptr && op->hasOneUse() && op->getParent() == root_.getParent();
    return own && !selector_.RotationOf(*op) ? op : nullptr;
  }
  std::optional<uint8_t> TableOf(const Leaf& leaf) {
    for (size_t i = 0; i < leaves_.size(); ++i) {
      if (leaves_[i] == leaf) return kTables[i];
      if (leaf.value == nullptr && leaves_[i] == Leaf{.by = ~leaf.by & ones_}) return static_cast<uint8_t>(~kTables[i]);
    }
    if (leaves_.size() == kTables.size()) return std::nullopt;
    leaves_.push_back(leaf);
    return kTables[leaves_.size() - 1];
  }
  std::optional<uint8_t> TableOfNumber(uint64_t bits) {
    bits &= ones_;
    if (bits == 0) return uint8_t{0};
    if (bits == ones_) return uint8_t{0xff};
    return TableOf(Leaf{.by = bits});
  }
  std::optional<uint8_t> TableOf(const Value* v, unsigned depth) {
    if (const llvm::APInt* number = NumberOf(v)) return TableOfNumber(number->getZExtValue());
    if (const BinaryOperator* op = depth > 0 ? Own(v) : nullptr) {
      if (IsLogic(op->getOpcode())) {
        ++spared_;
        const std::optional<uint8_t> a = TableOf(op->getOperand(0), depth - 1);
        const std::optional<uint8_t> b = a ? TableOf(op->getOperand(1), depth - 1) : std::nullopt;
        if (!b) return std::nullopt;
        return Met(op->getOpcode(), *a, *b);
      }
      if (const std::optional<uint8_t> table = TableOfShift(*op)) return table;
    }
    // What its one reader read from memory is in no register.
    if (!llvm::isa<llvm::Constant>(v) && !selector_.HasRegister(v)) return std::nullopt;
    return TableOf(Leaf{.value = selector_.Canonical(v)});
  }
  /// (x & m) << n is x << n, masked.
  std::optional<uint8_t> TableOfShift(const BinaryOperator& shift) {
    const unsigned opcode = shift.getOpcode();
    if (opcode != Instruction::Shl && opcode != Instruction::LShr) return std::nullopt;
    const llvm::APInt* const by = NumberOf(shift.getOperand(1));
    const BinaryOperator* const masked = Own(shift.getOperand(0));
    if (by == nullptr || masked == nullptr || masked->getOpcode() != Instruction::And) return std::nullopt;
    const llvm::APInt* const mask = NumberOf(masked->getOperand(1));
    const uint64_t n = by->getZExtValue();
    if (mask == nullptr || n >= mask->getBitWidth() || mask->getBitWidth() < 16) return std::nullopt;
    if (!selector_.HasRegister(masked->getOperand(0))) return std::nullopt;
    ++spared_;
    const std::optional<uint8_t> x =
        TableOf(Leaf{.value = selector_.Canonical(masked->getOperand(0)), .shift = opcode, .by = n});
    const std::optional<uint8_t> m =
        TableOfNumber(opcode == Instruction::Shl ? mask->getZExtValue() << n : mask->getZExtValue() >> n);
    if (!x || !m) return std::nullopt;
    return static_cast<uint8_t>(*x & *m);
  }

  const Selector& selector_;
  const BinaryOperator& root_;
  const uint64_t ones_;
  llvm::SmallVector<Leaf, 3> leaves_;
  int spared_ = 0;
  uint8_t table_ = 0;
};

bool Selector::HasRegister(const Value* v) const { return deferred_.contains(v) || values_.contains(v); }

bool Selector::TernaryLogic(const BinaryOperator& inst, const Shape& s) {
  if (!IsLogic(inst.getOpcode()) || avx2_ || s.kind != Shape::Kind::kVector) return false;
  Logic logic(*this, inst, s.bits);
  constexpr std::array<std::array<unsigned, 2>, 8> kDepths = {
      {{2, 2}, {2, 1}, {1, 2}, {1, 1}, {2, 0}, {0, 2}, {1, 0}, {0, 1}}};
  if (std::none_of(kDepths.begin(), kDepths.end(), [&](const auto& d) { return logic.Reach(d[0], d[1]); }))
    return false;
  if (logic.leaves().empty()) return false;
  std::array<Parts, 3> parts;
  // The first operand is overwritten, the last one may be in memory.
  std::array<int, 3> rank{};
  for (size_t i = 0; i < logic.leaves().size(); ++i) {
    const Logic::Leaf& leaf = logic.leaves()[i];
    if (leaf.value == nullptr) {
      rank[i] = 3;
      // Constants fill words at least.
      const uint64_t word = s.bits >= 32 ? leaf.by : leaf.by * (s.bits == 8 ? 0x01010101u : 0x00010001u);
      parts[i].assign(s.parts, SplatConstant(word, std::max(s.bytes(), 4u)));
    } else if (leaf.shift != 0) {
      const Parts x = Get(leaf.value);
      for (unsigned part = 0; part < s.parts; ++part) {
        parts[i].push_back(New(RegClass::kVec));
        ShiftImmediate(parts[i][part], s, leaf.shift, x[part], static_cast<unsigned>(leaf.by));
      }
    } else {
      rank[i] = deferred_.contains(leaf.value) || llvm::isa<llvm::Constant>(leaf.value) ? 3
                : leaf.value->hasOneUse()                                               ? 1
                                                                                        : 2;
      parts[i] = Get(leaf.value);
    }
  }
  std::array<size_t, 3> order = {0, 1, 2};
  for (size_t i = logic.leaves().size(); i < 3; ++i) {
    rank[i] = 2;
    parts[i] = parts[0];
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return rank[a] < rank[b]; });
  const uint8_t table = logic.Table(order);
  for (unsigned part = 0; part < s.parts; ++part) {
    Inst m{.op = op::Evex(3, 1, s.wide(), 0x25),  // vpternlogd, vpternlogq
           .len = s.len,
           .imm_bytes = 1,
           .mem_bytes = s.part_bytes(),
           .element = static_cast<uint8_t>(std::max(s.bytes(), 4u)),
           .foldable = true,
           .def = Slot::kReg,
           .reg = Result(inst)[part],
           .vvvv = parts[order[1]][part],
           .rm = parts[order[2]][part],
           .tied = parts[order[0]][part]};
    m.imm = table;
    Add(m);
  }
  return true;
}

}  // namespace tenon::emit_llvm::x64
