// The largest or smallest value of a dim together with its place, as two reductions that need no order: the value
// first, then the first place that has it, and what lies there where values that are equal may differ.
#include <algorithm>
#include <array>
#include <limits>

#include "tenon/base/neutral.h"
#include "tenon/compiler/simplify/policy.h"
#include "tenon/compiler/simplify/simplifier.h"
#include "tenon/kir/builder.h"
#include "tenon/kir/kir.h"

namespace tenon::compiler {
namespace {

/// How two operands of a comparison relate.
enum class Relation : uint8_t { kLess, kEqual, kGreater, kFirstNan, kSecondNan, kBothNan };

bool Holds(kir::Cmp direction, Relation r) {
  const bool unordered = r >= Relation::kFirstNan;
  switch (direction) {
    case kir::kEq:
      return r == Relation::kEqual;
    case kir::kNe:
      return r != Relation::kEqual;
    case kir::kLt:
      return r == Relation::kLess;
    case kir::kLe:
      return !unordered && r != Relation::kGreater;
    case kir::kGt:
      return r == Relation::kGreater;
    case kir::kGe:
      return !unordered && r != Relation::kLess;
    default:
      return false;
  }
}

/// A combiner of comparisons and selections alone: what it does depends on nothing but how its arguments relate, so
/// trying all relations proves it.
class Picker {
 public:
  Picker(const Program& p, const Block& block) : p_(p), block_(block) {}

  /// Which arguments (0: first value, 1: first place, 2: second value, 3: second place) the results are; nothing when
  /// the combiner does other things.
  std::optional<std::array<int, 2>> Pick(Relation values, Relation places) const {
    std::unordered_map<NodeId, int> chosen;  // Argument that a node yields.
    std::unordered_map<NodeId, bool> truth;
    for (int i = 0; i < 4; ++i) chosen[block_.args[static_cast<size_t>(i)]] = i;
    for (NodeId id : block_.nodes) {
      const GraphNode& node = p_[id];
      const auto argument = [&](size_t i) {
        const auto it = std::find(block_.args.begin(), block_.args.end(), node.in[i].node);
        return it == block_.args.end() ? -1 : static_cast<int>(it - block_.args.begin());
      };
      const auto known = [&](size_t i) { return truth.contains(node.in[i].node); };
      if (node.op == OpCode::kCompare) {
        const int a = argument(0), b = argument(1);
        if (a < 0 || b < 0 || a % 2 != b % 2 || node.attrs<CompareAttrs>().total_order) return std::nullopt;
        const Relation r = a % 2 == 0 ? values : places;
        truth[id] = Holds(node.attrs<CompareAttrs>().comparison_direction, Between(r, a / 2, b / 2));
      } else if (node.op == OpCode::kAnd || node.op == OpCode::kOr) {
        if (!known(0) || !known(1)) return std::nullopt;
        const bool x = truth[node.in[0].node], y = truth[node.in[1].node];
        truth[id] = node.op == OpCode::kAnd ? x && y : x || y;
      } else if (node.op == OpCode::kNot) {
        if (!known(0)) return std::nullopt;
        truth[id] = !truth[node.in[0].node];
      } else if (node.op == OpCode::kSelect) {
        if (!known(0) || !chosen.contains(node.in[1].node) || !chosen.contains(node.in[2].node)) return std::nullopt;
        chosen[id] = chosen[node.in[truth[node.in[0].node] ? 1 : 2].node];
      } else {
        return std::nullopt;
      }
    }
    std::array<int, 2> results{};
    for (size_t i = 0; i < 2; ++i) {
      const auto it = chosen.find(block_.results[i].node);
      if (it == chosen.end()) return std::nullopt;
      results[i] = it->second;
    }
    return results;
  }

 private:
  /// The relation of operands x and y (0: first, 1: second), given that of first and second.
  static Relation Between(Relation r, int x, int y) {
    if (x == y) {
      const bool nan = r == Relation::kBothNan || r == (x == 0 ? Relation::kFirstNan : Relation::kSecondNan);
      return nan ? Relation::kBothNan : Relation::kEqual;
    }
    if (x == 0) return r;
    switch (r) {
      case Relation::kLess:
        return Relation::kGreater;
      case Relation::kGreater:
        return Relation::kLess;
      case Relation::kFirstNan:
        return Relation::kSecondNan;
      case Relation::kSecondNan:
        return Relation::kFirstNan;
      default:
        return r;
    }
  }

  const Program& p_;
  const Block& block_;
};

/// What a combiner keeps of values that are equal: zeros may differ in their signs, NaN in their other bits.
enum class OfEqual : uint8_t { kEither, kFirst };

/// Whether the combiner keeps the extreme value and, of equal ones, the place that comes first, when first places are
/// smaller. NaN beats all.
std::optional<OfEqual> KeepsFirst(const Program& p, const Block& block, bool largest, bool with_nan) {
  const Picker picker(p, block);
  OfEqual kept = OfEqual::kFirst;
  for (int r = 0; r <= static_cast<int>(with_nan ? Relation::kBothNan : Relation::kGreater); ++r) {
    const auto relation = static_cast<Relation>(r);
    bool second = false;
    switch (relation) {
      case Relation::kLess:
        second = largest;
        break;
      case Relation::kGreater:
        second = !largest;
        break;
      case Relation::kSecondNan:
        second = true;
        break;
      default:
        break;
    }
    const auto picked = picker.Pick(relation, Relation::kLess);
    if (!picked || (*picked)[1] != (second ? 3 : 1)) return std::nullopt;
    const bool equal = relation == Relation::kEqual || relation == Relation::kBothNan;
    if (equal && (*picked)[0] == 2) {
      kept = OfEqual::kEither;
    } else if ((*picked)[0] != (second ? 2 : 0)) {
      return std::nullopt;
    }
  }
  return kept;
}

}  // namespace

bool Simplifier::BindExtreme(NodeId id, const GraphNode& node) {
  if (node.op != OpCode::kReduce || node.in.size() != 4 || node.blocks[0].args.size() != 4) return false;
  const auto& over = node.attrs<ReduceAttrs>();
  if (over.dimensions.size() != 1) return false;
  const Shape values = ShapeOf(node.in[0]);
  const Shape places = ShapeOf(node.in[1]);
  const int64_t dim = over.dimensions[0];
  // Of places that begin anew the first one is not the least.
  if (!CountsAlong(Def(node.in[1]), dim) || values.dims != places.dims) return false;
  const int64_t count = values.dims[static_cast<size_t>(dim)];
  // Choices among a few conditions are selections of what follows from each.
  const bool truths = values.dtype == DType::kPred && count > static_cast<int64_t>(policy::kMaxStacked);
  if (!(IsFloat(values.dtype) || IsInteger(values.dtype) || truths) || count < 2) return false;
  if ((DTypeBits(values.dtype) < 8 && !truths) || DTypeBits(places.dtype) < 8 || node.shape(0).dtype != values.dtype ||
      node.shape(1).dtype != places.dtype)
    return false;
  const bool with_nan = IsFloat(values.dtype);
  std::optional<OfEqual> of_equal = KeepsFirst(to_, node.blocks[0], true, with_nan);
  const bool largest = of_equal.has_value();
  if (!largest) of_equal = KeepsFirst(to_, node.blocks[0], false, with_nan);
  if (!of_equal) return false;
  const OpCode op = truths ? largest ? OpCode::kOr : OpCode::kAnd : largest ? OpCode::kMaximum : OpCode::kMinimum;
  // Nothing is beyond the initial value, and its place is no later than any.
  const std::optional<uint64_t> identity = IdentityBits(op, values.dtype);
  if (!identity || !IsSplat(node.in[2], *identity) || !IsSplat(node.in[3], 0)) return false;

  const auto reduce = [&](Ref x, OpCode by, Ref from) {
    GraphNode made;
    made.op = OpCode::kReduce;
    made.in = {x, from};
    made.out.push_back({ShapeOf(x).dtype, node.shape(0).dims});
    made.attributes = over;
    made.blocks.push_back(MakeCombiner(to_, by, ShapeOf(x).dtype));
    return Emit(std::move(made));
  };
  Dims kept;
  for (size_t d = 0; d < values.rank(); ++d) {
    if (static_cast<int64_t>(d) != dim) kept.push_back(static_cast<int64_t>(d));
  }
  Ref value = reduce(node.in[0], op, node.in[2]);
  Ref here = Compare(kir::kEq, node.in[0], Broadcast(value, values.dims, kept));
  if (with_nan) here = Binary(OpCode::kOr, here, Compare(kir::kNe, node.in[0], node.in[0]));
  const uint64_t last = HighestBits(places.dtype);
  const Ref place =
      reduce(Select(here, node.in[1], Splat(places, last)), OpCode::kMinimum, Splat({places.dtype, {}}, last));
  if (with_nan && *of_equal == OfEqual::kFirst) {
    const DType type = NumElements(values.dims) > INT32_MAX ? DType::kS64 : DType::kS32;
    const Dims strides = RowMajorStridesElems(values.dims);
    Dims steps;
    for (int64_t d : kept) steps.push_back(strides[static_cast<size_t>(d)]);
    const Ref along =
        Binary(OpCode::kMultiply, Converted(place, type),
               Splat({type, node.shape(1).dims}, static_cast<uint64_t>(strides[static_cast<size_t>(dim)])));
    value = Taken(node.in[0], Binary(OpCode::kAdd, Places(type, node.shape(1).dims, steps, 0), along));
  }
  Bind(id, 0, value);
  Bind(id, 1, place);
  log_.Hit(
      Rule::first_extreme, [&] { return PrintNode(to_, node); },
      [&] { return PrintValue(to_, value) + ", " + PrintValue(to_, place); });
  return true;
}

}  // namespace tenon::compiler
