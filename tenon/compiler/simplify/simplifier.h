#pragma once

// What the sources behind Simplify share.

#include <optional>
#include <unordered_map>
#include <vector>

#include "tenon/compiler/ir/ir.h"

namespace tenon::compiler {

/// One walk over a program, which writes a simpler one. The parts are in the sources named after what they rewrite.
class Simplifier {
 public:
  explicit Simplifier(const Program& from) : from_(from) {}
  Program Run();

 private:
  // Copying.
  void CopyBlock(const Block& from, Block& to);
  void CopyNodes(const Block& from, Block& to);
  void CopyNode(NodeId id);
  bool CopyWhile(NodeId id);
  bool CopyCase(NodeId id);
  bool BindTrivial(NodeId id, const Node& node);
  bool Unroll(NodeId id, const std::vector<Ref>& init);
  Ref Map(Ref r) const;
  void Bind(NodeId old, uint32_t result, Ref r);

  // Making nodes. Emit returns an equal simpler value, an equal earlier one, or the new node.
  Ref Emit(Node node);
  NodeId Append(Node node);
  std::optional<Ref> Rewrite(Node& node);
  std::optional<Ref> RewriteElementwise(Node& node);
  std::optional<Ref> RewriteView(Node& node);
  std::optional<Ref> RewriteBroadcast(const Node& node);
  std::optional<Ref> RewriteTranspose(const Node& node);
  std::optional<Ref> RewritePad(const Node& node);
  std::optional<Ref> RewriteSlice(const Node& node);
  std::optional<Ref> RewriteDynamicSlice(const Node& node);
  std::optional<Ref> RewriteReduce(Node& node);
  std::optional<Ref> SplitLongReduce(Node& node);
  std::optional<Ref> RewriteReduceWindow(Node& node);
  std::optional<Ref> RewriteConvolution(Node& node);
  std::optional<Ref> RewriteDot(Node& node);
  /// Of a complex constant, of what was real, of what was put together.
  std::optional<Ref> RewritePart(const Node& node);
  /// Sums and products of complex arrays.
  std::optional<Ref> RewriteComplex(Node& node);
  std::optional<Ref> RewriteScan(Node& node);
  std::optional<Ref> RewriteSelectAndScatter(Node& node);
  bool BindExtreme(NodeId id, const Node& node);
  /// Where each operand of a concatenation ends along its dimension.
  const std::vector<int64_t>& EndsOf(NodeId concatenation);
  Block CombinerOf(Op op, DType type);
  std::optional<Ref> Fold(const Node& node);

  Ref Constant(Shape shape, Literal literal);
  Ref Splat(const Shape& shape, uint64_t bits);
  Ref Binary(Op op, Ref a, Ref b);
  Ref Reshape(Ref r, Dims dims);
  /// The real or imaginary (op) part of a complex value.
  Ref Part(Op op, Ref r);
  Ref Padded(Ref r, Ref value, const Dims& low, const Dims& high, const Dims& interior);
  Ref StridedSlice(Ref r, const Dims& start, const Dims& stride, const Dims& extent);
  Ref Converted(Ref r, DType type);
  /// The scalar everywhere, converted if need be.
  Ref Spread(Ref scalar, const Shape& shape);
  const target::Numerics& numerics() const { return from_.target->numerics; }
  const Node& Def(Ref r) const { return to_[r.node]; }
  const Shape& ShapeOf(Ref r) const { return to_.shape(r); }
  bool IsSplat(Ref r, uint64_t bits) const {
    const std::optional<uint64_t> b = SplatBits(to_, r);
    return b && *b == bits;
  }

  const Program& from_;
  Program to_;
  std::unordered_map<Ref, Ref, RefHasher> map_;
  Block* block_ = nullptr;
  std::unordered_map<NodeId, std::vector<int64_t>> ends_;
  std::unordered_multimap<uint64_t, NodeId> known_;
  std::vector<std::pair<uint64_t, NodeId>> known_order_;
};

/// Heavy work that is the same in every trip of a loop is done before it, and so are products of the elements of an
/// array that a loop walks along: as one. A loop of no trips does it in vain.
void HoistFromLoops(Program& program);

/// Sorts of which only the first few elements are used give no more than those.
void TakeFirst(Program& program);

/// The plain binary op of a combiner block (accumulator, element) -> op; kOpaque for others.
Op CombinerOp(const Program& program, const Block& block);
/// The bits e of `type` with op(e, x) == x; nothing when there are none.
std::optional<uint64_t> IdentityBits(Op op, DType type);

}  // namespace tenon::compiler
