// Arithmetic on bytes that a program writes in long numbers: where ranges show that 16 bits hold all of it and nothing
// else in the kernel is longer, lanes are twice as many or more.

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tenon/compiler/fuse/integers.h"
#include "tenon/compiler/fuse/kernel_walk.h"
#include "tenon/kir/builder.h"
#include "tenon/kir/ranges.h"

namespace tenon::compiler {
namespace {

using kir::Op;
using kir::Val;
using Range = kir::IntegerRange;

bool Fits(const Range& range, DType type) {
  const Range whole = kir::RangeOfType(type);
  return range.known && range.lo >= whole.lo && range.hi <= whole.hi;
}
bool IsLong(DType type) { return type != DType::kPred && ByteWidth(type) > 2; }

class Shortening {
 public:
  explicit Shortening(kir::Kernel& k) : k_(k), ranges_(kir::RangeRules(k).OfAll()) {}

  void Run() {
    if (!Applies()) return;
    for (size_t v = 0; v < k_.nodes.size(); ++v) map_.push_back(Short(static_cast<Val>(v)));
    Renumber(k_, std::move(nodes_), map_);
  }

 private:
  /// The first of the types that holds all of the nodes; nothing where none does.
  std::optional<DType> TypeOf(std::initializer_list<Val> values) const {
    for (const DType type : {DType::kS16, DType::kU16}) {
      if (std::ranges::all_of(values, [&](Val v) { return Fits(ranges_[v], type); })) return type;
    }
    return std::nullopt;
  }
  bool IsShortened(Val v) const { return types_[v] != k_.nodes[v].type; }

  /// Decides on types, too.
  bool Applies() {
    bool any = false;
    for (Val v = 0; v < k_.nodes.size(); ++v) {
      const kir::Node& n = k_.nodes[v];
      const std::optional<DType> type = IsLong(n.type) ? ShortTypeOf(v) : n.type;
      if (!type) return false;
      types_.push_back(*type);
      any |= IsShortened(v);
      if (IsLong(n.type) || std::ranges::none_of(n.in, [&](Val in) { return IsShortened(in); })) continue;
      if (n.op != Op::kConvert && !(n.op == Op::kCompare && TypeOf({n.in[0], n.in[1]}))) return false;
    }
    const auto stays = [&](Val& v) { any &= !IsShortened(v); };
    ForEachRootUse(k_, stays);
    for (kir::Read& read : k_.reads) ForEachUse(read, stays);
    return any;
  }

  /// Low bits of sums, products and the like come from low bits of what they are made of; what looks at whole numbers
  /// needs a type for all of them.
  std::optional<DType> ShortTypeOf(Val v) const {
    const kir::Node& n = k_.nodes[v];
    if (!IsInteger(n.type)) return std::nullopt;
    switch (n.op) {
      case Op::kConvert:
        if (!IsInteger(k_.nodes[n.in[0]].type) && k_.nodes[n.in[0]].type != DType::kPred) return std::nullopt;
        return TypeOf({v});
      case Op::kConst:
      case Op::kAdd:
      case Op::kSub:
      case Op::kMul:
      case Op::kAnd:
      case Op::kOr:
      case Op::kXor:
      case Op::kSelect:
        return TypeOf({v});
      case Op::kMin:
      case Op::kMax:
        return TypeOf({n.in[0], n.in[1]});
      case Op::kShrLogical:
      case Op::kShrArith: {
        const Range by = ranges_[n.in[1]];
        if (!by.is_one() || by.lo < 0 || by.lo >= DTypeBits(DType::kS16) || !TypeOf({v})) return std::nullopt;
        return TypeOf({n.in[0]});
      }
      default:
        return std::nullopt;
    }
  }

  Val Add(kir::Node n) {
    nodes_.push_back(std::move(n));
    return static_cast<Val>(nodes_.size() - 1);
  }
  Val Make(Op op, DType type, std::initializer_list<Val> in, uint8_t imm = 0) {
    kir::Node n;
    n.op = op;
    n.type = type;
    n.imm = imm;
    for (const Val v : in) n.in.push_back(v);
    return Add(std::move(n));
  }
  Val Constant(DType type, int64_t value) {
    kir::Node n;
    n.op = Op::kConst;
    n.type = type;
    n.attr = static_cast<uint32_t>(k_.literals.size());
    k_.literals.push_back(kir::LiteralBits(type, value));
    return Add(std::move(n));
  }
  /// What became of an old node, as a number of that type.
  Val As(DType type, Val old) {
    if (nodes_[map_[old]].type == type) return map_[old];
    const auto [it, fresh] = converted_.try_emplace({old, type}, kir::kNone);
    if (fresh)
      it->second = ranges_[old].is_one() ? Constant(type, ranges_[old].lo) : Make(Op::kConvert, type, {map_[old]});
    return it->second;
  }

  Val Short(Val v) {
    kir::Node n = k_.nodes[v];
    const std::vector<Val> old(n.in.begin(), n.in.end());
    for (Val& in : n.in) in = map_[in];
    if (n.op == Op::kCompare && IsShortened(old[0])) {
      const DType type = *TypeOf({old[0], old[1]});
      for (size_t i = 0; i < 2; ++i) n.in[i] = As(type, old[i]);
      return Add(std::move(n));
    }
    const DType type = types_[v];
    if (n.op == Op::kConvert && nodes_[n.in[0]].type == type) return n.in[0];
    if (!IsShortened(v)) return Add(std::move(n));
    n.type = type;
    if (n.op == Op::kConst) return Constant(type, ranges_[v].lo);
    if (n.op == Op::kConvert) return Add(std::move(n));
    if (n.op == Op::kShrLogical || n.op == Op::kShrArith) {
      const Op shift = type == DType::kU16 ? Op::kShrLogical : Op::kShrArith;
      return Make(shift, type, {As(type, old[0]), Constant(type, ranges_[old[1]].lo)});
    }
    for (size_t i = n.op == Op::kSelect ? 1 : 0; i < old.size(); ++i) n.in[i] = As(type, old[i]);
    return Add(std::move(n));
  }

  kir::Kernel& k_;
  const std::vector<Range> ranges_;  ///< By old node.
  std::vector<DType> types_;         ///< What old nodes will be.
  std::vector<kir::Node> nodes_;
  std::vector<Val> map_;
  std::map<std::pair<Val, DType>, Val> converted_;
};

}  // namespace

void ShortenNumbers(kir::Kernel& kernel) {
  const auto is_long = [](const kir::Node& n) { return IsLong(n.type); };
  const auto is_short = [](const kir::Node& n) { return n.op == Op::kRead && !IsLong(n.type); };
  if (std::ranges::any_of(kernel.nodes, is_long) && std::ranges::any_of(kernel.nodes, is_short))
    Shortening(kernel).Run();
}

}  // namespace tenon::compiler
