// Nodes of constants, and those that constants settle.

#include "tenon/compiler/fuse/constants.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "tenon/compiler/fuse/canonical.h"
#include "tenon/compiler/fuse/kernel_walk.h"
#include "tenon/compiler/ir/kir_op.h"
#include "tenon/kir/builder.h"

namespace tenon::compiler {
namespace {

using kir::Op;
using kir::Val;

std::optional<int64_t> Whole(const KnownConstant& c) {
  switch (c.type) {
    case DType::kPred:
      return c.bits != 0;
    case DType::kS32:
      return static_cast<int32_t>(c.bits);
    case DType::kS64:
      return static_cast<int64_t>(c.bits);
    default:
      return std::nullopt;
  }
}

/// A constant that computing leaves alone: subnormal ones are flushed, and of NaNs there are many.
std::optional<float> Plain(float x) {
  return std::isnormal(x) || x == 0 || std::isinf(x) ? std::optional(x) : std::nullopt;
}
std::optional<float> Plain(const KnownConstant& c) {
  if (c.type != DType::kF32) return std::nullopt;
  return Plain(std::bit_cast<float>(static_cast<uint32_t>(c.bits)));
}

template <class T>
T Arithmetic(Op op, T x, T y) {
  return op == Op::kAdd ? x + y : op == Op::kSub ? x - y : x * y;
}

class Folder {
 public:
  explicit Folder(kir::Kernel& k) : k_(k), now_(k.nodes.size()) {}

  void Run() {
    for (Val v = 0; v < k_.nodes.size(); ++v) {
      kir::Node& node = k_.nodes[v];
      for (Val& in : node.in) in = now_[in];
      now_[v] = v;
      if (node.op == Op::kRead) ForEachUse(k_.reads[node.attr], [&](Val& in) { in = now_[in]; });
      if (const std::optional<Val> same = Settled(node)) {
        now_[v] = *same;
        continue;
      }
      SmallVector<KnownConstant, 3> in;
      for (Val operand : node.in) {
        if (const auto bits = Bits(operand)) in.push_back({k_.nodes[operand].type, *bits});
      }
      if (in.size() != node.in.size()) continue;
      if (const std::optional<uint64_t> bits = ValueOf(node, in)) node = Constant(node.type, *bits);
    }
    ForEachRootUse(k_, [&](Val& v) { v = now_[v]; });
  }

 private:
  std::optional<uint64_t> Bits(Val v) const {
    const kir::Node& n = k_.nodes[v];
    if (n.op != Op::kConst) return std::nullopt;
    return k_.literals[n.attr];
  }

  kir::Node Constant(DType type, uint64_t bits) {
    const auto at =
        static_cast<uint32_t>(std::find(k_.literals.begin(), k_.literals.end(), bits) - k_.literals.begin());
    if (at == k_.literals.size()) k_.literals.push_back(bits);
    return kir::Node{Op::kConst, type, 0, at, {}};
  }

  /// The operand that the node equals.
  std::optional<Val> Settled(const kir::Node& n) const {
    if (n.op == Op::kSelect) {
      if (const auto predicate = Bits(n.in[0])) return n.in[*predicate != 0 ? 1 : 2];
      if (n.in[1] == n.in[2]) return n.in[1];
      const auto x = Bits(n.in[1]), y = Bits(n.in[2]);
      if (x && y && *x == *y) return n.in[1];
    }
    if ((n.op == Op::kAnd || n.op == Op::kOr) && n.type == DType::kPred) {
      for (size_t i : {0, 1}) {
        if (const auto known = Bits(n.in[i])) return n.in[(*known != 0) == (n.op == Op::kAnd) ? 1 - i : i];
      }
    }
    return std::nullopt;
  }

  kir::Kernel& k_;
  std::vector<Val> now_;  // By node: what it is now.
};

}  // namespace

std::optional<uint64_t> ValueOf(const kir::Node& n, const SmallVector<KnownConstant, 3>& in) {
  if (n.op == Op::kCompare && n.imm <= kir::kGe) {
    const auto how = static_cast<kir::Cmp>(n.imm);
    if (const auto x = Whole(in[0]), y = Whole(in[1]); x && y) return Holds(how, *x, *y);
    if (const auto x = Plain(in[0]), y = Plain(in[1]); x && y) return Holds(how, *x, *y);
  }
  if (n.op == Op::kConvert && (n.type == DType::kS32 || n.type == DType::kS64 || n.type == DType::kF32)) {
    constexpr int64_t kExact = int64_t{1} << 24;  // structural: whole numbers of f32
    if (const auto x = Whole(in[0]); x && *x > -kExact && *x < kExact) return kir::LiteralBits(n.type, *x);
  }
  if (n.op != Op::kAdd && n.op != Op::kSub && n.op != Op::kMul) return std::nullopt;
  if (n.type == DType::kF32) {
    const auto x = Plain(in[0]), y = Plain(in[1]);
    if (!x || !y) return std::nullopt;
    const auto value = Plain(Arithmetic(n.op, *x, *y));
    // What rounds to the least normal number, or to none, may be flushed before it is rounded.
    if (!value || std::abs(*value) == std::numeric_limits<float>::min() ||
        (n.op == Op::kMul && *value == 0 && *x != 0 && *y != 0))
      return std::nullopt;
    return std::bit_cast<uint32_t>(*value);
  }
  if (n.type != DType::kS32 && n.type != DType::kS64) return std::nullopt;
  const auto x = Whole(in[0]), y = Whole(in[1]);
  constexpr int64_t kSmall = int64_t{1} << 15;  // structural: a product of two fits s32
  const auto is_small = [&](int64_t v) { return v > -kSmall && v < kSmall; };
  if (!x || !y || !is_small(*x) || !is_small(*y)) return std::nullopt;
  return kir::LiteralBits(n.type, Arithmetic(n.op, *x, *y));
}

void FoldConstants(kir::Kernel& kernel) { Folder(kernel).Run(); }

}  // namespace tenon::compiler
