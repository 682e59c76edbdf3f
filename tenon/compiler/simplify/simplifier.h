#pragma once

// What the sources behind Simplify share.

#include <functional>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tenon/compiler/ir/combiner.h"
#include "tenon/compiler/ir/ir.h"
#include "tenon/compiler/ir/uses.h"
#include "tenon/compiler/simplify/known_numbers.h"
#include "tenon/compiler/simplify/rules.h"
#include "tenon/compiler/simplify/simplify.h"

namespace tenon::compiler {

/// One walk over a program, which writes a simpler one. rules.def lists the rules; they are in the sources named after
/// what they rewrite.
class Simplifier {
 public:
  Simplifier(const Program& from, const Outlook& outlook, RuleLog& log) : from_(from), outlook_(outlook), log_(log) {}
  Program Run();

 private:
  // Copying.
  void CopyBlock(const Block& from, Block& to);
  void CopyNodes(const Block& from, Block& to);
  void CopyNode(NodeId id);
  bool CopyWhile(NodeId id);
  bool CopyCase(NodeId id);
  bool BindTrivial(NodeId id, const GraphNode& node);
  bool Unroll(NodeId id, const std::vector<Ref>& init);
  Ref Map(Ref r) const;
  void Bind(NodeId old, uint32_t result, Ref r);

  // Making nodes. Emit returns an equal simpler value, an equal earlier one, or the new node; Shared does not look for
  // a simpler one.
  Ref Emit(GraphNode node);
  Ref Shared(GraphNode node);
  NodeId Append(GraphNode node);
  std::optional<Ref> Rewrite(const GraphNode& node);
  /// A row of the table of rules.
  struct Row;
  static const std::vector<Row>& RulesOf(OpCode op);
#define TENON_SIMPLIFY_RULE(name, function, text, ...) std::optional<Ref> function(const GraphNode& node);
#define TENON_SIMPLIFY_PASS(name, text)
#include "tenon/compiler/simplify/rules.def"
#undef TENON_SIMPLIFY_RULE
#undef TENON_SIMPLIFY_PASS
  /// Elements of `r` along `dim`: `count` of them, `step` apart; those of a list, where few views give them.
  Ref TakenRun(Ref r, size_t dim, int64_t first, int64_t step, int64_t count);
  std::optional<Ref> Taken(Ref r, size_t dim, const std::vector<int64_t>& list);
  /// Whether places of the shape lie in [lo, hi) along `d`.
  Ref WithinAlong(const Shape& shape, size_t d, int64_t lo, int64_t hi);
  /// An array that is the same along some of its dims.
  struct Spreading {
    Ref of;     ///< What was broadcast, without extents of one.
    Dims dims;  ///< Of the array, per dim of `of`.
  };
  Spreading SpreadingOf(Ref r);
  /// The update of `operand` where the mask is `when`; nothing where the choice between both arrays is as good.
  std::optional<Ref> MaskedSlice(const GraphNode& update, Ref mask, bool when, Ref operand);
  std::optional<Ref> MaskedScatter(const GraphNode& update, Ref mask, bool when, Ref operand);
  bool BindExtreme(NodeId id, const GraphNode& node);
  bool BindWindows(NodeId id, const GraphNode& node);
  OpCode WindowOp(const GraphNode& node) const;
  /// Windows along one dim: so many, of so many elements, `stride` apart, their elements `dilation` apart.
  struct WindowOfDim {
    int64_t n, window, stride, dilation;
  };
  Ref WindowsAlong(Ref r, size_t dim, OpCode op, const WindowOfDim& w);
  /// A region of elementwise ops on scalars, on arrays; nothing for others.
  std::optional<std::vector<Ref>> Spelled(const Block& block, const std::vector<Ref>& arguments);
  std::optional<std::vector<Ref>> SpelledWindows(const GraphNode& node);
  std::optional<std::vector<Ref>> GatheredWindows(const GraphNode& node);
  /// How a select_and_scatter prefers the earlier of two elements, where that is a comparison of both.
  std::optional<CompareAttrs> SelectionOf(const GraphNode& node) const;
  /// Few values of extent one along a dim, put one behind the other there, in this block.
  struct Stack {
    std::vector<Ref> values;
    size_t along = 0;
  };
  std::optional<Stack> FewStacked(Ref r);
  /// values[place], the first or last one where there is none.
  Ref ChoiceOf(const std::vector<Ref>& values, Ref place);
  Ref Places(DType type, const Dims& dims, const Dims& steps, int64_t offset);
  Ref Taken(Ref array, Ref places);
  std::optional<Ref> Existing(const ReduceWindowAttrs& windows, const Dims& operand, const Dims& results);
  std::optional<Ref> OtherThan(const GraphNode& node, uint64_t bits) const;
  /// Where each operand of a concatenation ends along its dimension.
  const std::vector<int64_t>& EndsOf(NodeId concatenation);

  Ref Constant(Shape shape, Literal literal);
  Ref Splat(const Shape& shape, uint64_t bits);
  Ref Binary(OpCode op, Ref a, Ref b);
  Ref Compare(kir::Cmp how, Ref a, Ref b);
  Ref Select(Ref mask, Ref yes, Ref no);
  Ref Reshape(Ref r, Dims dims);
  /// How a value that is computed point by point is made anew with other dims.
  struct Remaking {
    std::function<std::optional<Ref>(Ref)> leaf;  ///< What stands in for a value; nothing: it is made of its operands.
    bool functions = true;                        ///< Whether functions are computed anew.
  };
  /// The value with these dims, made anew down to leaves and to what is the same everywhere, by at most `left`
  /// operations, which are counted.
  std::optional<Ref> Remade(Ref r, const Dims& dims, const Remaking& how, size_t& left);
  /// The same elements, row after row, with other dims all the way down to reshapes and to what lies in memory, if it
  /// is made of few operations.
  std::optional<Ref> WithDims(Ref r, const Dims& dims);
  /// The first transpose that the value is made of, by operations point by point alone; kNoNode: none.
  NodeId TransposeBelow(Ref r) const;
  /// The value before such a transpose by `turn`, if all that it is made of is turned so or the same everywhere, by few
  /// cheap operations.
  std::optional<Ref> WithoutTranspose(Ref r, const Dims& turn);
  /// Whether it is one number everywhere, known or not.
  bool IsSpread(const GraphNode& node) const;
  /// The real or imaginary (op) part of a complex value.
  Ref Part(OpCode op, Ref r);
  Ref Padded(Ref r, Ref value, const Dims& low, const Dims& high, const Dims& interior);
  Ref StridedSlice(Ref r, const Dims& start, const Dims& stride, const Dims& extent);
  /// The slice `at`, of `shape`, of a padded array, as padding of a slice of what it pads; nothing where that is none.
  std::optional<Ref> CroppedPad(const GraphNode& pad, const SliceAttrs& at, const Shape& shape);
  Ref Converted(Ref r, DType type);
  Ref Concatenated(SmallVector<Ref, 3> parts, size_t dim);
  Ref Reversed(Ref r, size_t dim);
  Ref Broadcast(Ref r, Dims dims, Dims places);
  Ref Transposed(Ref r, Dims permutation);
  /// The scalar everywhere, converted if need be.
  Ref Spread(Ref scalar, const Shape& shape);
  const target::Numerics& numerics() const { return from_.target->numerics; }
  const GraphNode& Def(Ref r) const { return to_[r.node]; }
  const Shape& ShapeOf(Ref r) const { return to_.shape(r); }
  bool IsSplat(Ref r, uint64_t bits) const {
    const std::optional<uint64_t> b = SplatBits(to_, r);
    return b && *b == bits;
  }

  /// What an element of a product with few columns takes in a kernel whose lanes are rows, the columns being written
  /// out: cycles per 16 elements of 4 bytes. Infinity for products of another form.
  double CostInRows(const GraphNode& dot, int64_t terms) const;
  /// What an element of the value costs where a kernel computes it from memory, all that it is made of counted.
  double ChainCost(Ref r);
  bool Lasts(Ref r) const;
  std::optional<target::Work> WorkOfWidened(const GraphNode& dot);
  bool WritesOut(const GraphNode& dot, int64_t terms);
  std::optional<Ref> WriteOutWeightGradient(const GraphNode& node);

  const Program& from_;
  const Outlook& outlook_;
  RuleLog& log_;
  Program to_;
  KnownNumbers known_numbers_{to_};
  std::unordered_map<Ref, Ref, RefHasher> map_;
  Block* block_ = nullptr;
  mlir::Operation* source_ = nullptr;        ///< Of the node at hand.
  int loops_ = 0;                            ///< Around it.
  NodeId lasting_end_ = 0;                   ///< Nodes before it are read in many trips of the innermost of them.
  std::vector<bool> cropped_;                ///< Nodes of from_ with one user, which is a slice or padding.
  std::unordered_set<NodeId> cropped_pads_;  ///< Paddings of to_ that were such nodes.
  std::unordered_map<NodeId, std::vector<int64_t>> ends_;
  std::unordered_map<NodeId, double> chain_costs_;
  std::unordered_multimap<uint64_t, NodeId> known_;
  std::vector<std::pair<uint64_t, NodeId>> known_order_;
};

/// `extent` elements of each dimension, `stride` apart, from `start` on.
GraphNode SliceNode(const Program& program, Ref r, const Dims& start, const Dims& stride, const Dims& extent);

/// Heavy work that is the same in every trip of a loop is done before it, and so are products of the elements of an
/// array that a loop walks along: as one. A loop of no trips does it in vain.
void HoistFromLoops(Program& program, RuleLog& log);

/// What loops need not do trip by trip leaves them, before or behind, for all trips at once (fission.cc); whether
/// anything did. It is not yet in the forms that the rules make.
bool SplitLoops(Program& program, const Outlook& outlook, RuleLog& log);

/// Concatenations that only another one along the same dimension uses are parts of that; whether there were any. What
/// they were is left without users.
bool JoinConcatenations(Program& program, RuleLog& log);

/// A choice between what is computed and its mirror image is computed of a choice between what it is computed from and
/// the mirror image of that; whether there was any. What it was is left without users.
bool ChooseMirrored(Program& program, RuleLog& log);

/// What is asked for only in parts, by reductions, is computed in these parts, with all that is computed for it alone:
/// each is one kernel with its reduction. Whether there was any; what it was is left without users.
bool ComputeInParts(Program& program, RuleLog& log);

/// Sorts of which only the first few elements are used give no more than those.
void TakeFirst(Program& program, RuleLog& log);

}  // namespace tenon::compiler
