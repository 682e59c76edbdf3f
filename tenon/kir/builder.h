#pragma once

/// Writing kernels and graphs: nodes that are equal become one node, literals are shared, types are inferred from the
/// operands. The builders check nothing (Verify does); operands must be nodes that the same builder made.

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "tenon/kir/kir.h"
#include "tenon/kir/math.h"

namespace tenon::kir {

/// The bits of `value` rounded to `type` (floats to nearest even, integers toward zero and then modulo their width;
/// from 2^63 on they saturate; pred is value != 0), zero-extended.
uint64_t LiteralBits(DType type, double value);
uint64_t LiteralBits(DType type, int64_t value);
inline uint64_t LiteralBits(DType type, int value) { return LiteralBits(type, static_cast<int64_t>(value)); }
/// The value of a literal as a double: exact but for 64-bit integers beyond 2^53.
double LiteralValue(DType type, uint64_t bits);
/// The bits e of `type` with op(e, x) == x, bit for bit, for every x; nothing when there are none, or for complex
/// types. Where there are, elements may meet in any order and grouping: with the same result, or, of sums and products
/// of floats, one that they are allowed to differ by.
std::optional<uint64_t> IdentityBits(Op op, DType type);

/// What KernelBuilder and GraphBuilder share: making nodes.
class NodeBuilder {
 public:
  NodeBuilder(const NodeBuilder&) = delete;
  NodeBuilder& operator=(const NodeBuilder&) = delete;

  /// The node equal to `node`, made when there is none yet.
  Val Emit(Node node);
  Val Emit(Op op, DType type, std::initializer_list<Val> in, uint8_t imm = 0, uint32_t attr = 0);
  const Node& node(Val v) const { return (*nodes_)[v]; }
  DType type(Val v) const { return (*nodes_)[v].type; }
  size_t num_nodes() const { return nodes_->size(); }
  /// Whether `v` is a literal with exactly these bits.
  bool IsConst(Val v, uint64_t bits) const { return node(v).op == Op::kConst && (*literals_)[node(v).attr] == bits; }

  Val ConstBits(DType type, uint64_t bits);
  /// LiteralBits(type, value).
  Val Const(DType type, double value) { return ConstBits(type, LiteralBits(type, value)); }
  Val Const(DType type, int64_t value) { return ConstBits(type, LiteralBits(type, value)); }
  Val Const(DType type, int value) { return ConstBits(type, LiteralBits(type, value)); }
  Val ConstF32(float value);
  Val ConstF64(double value);
  Val ConstS32(int32_t value) { return Const(DType::kS32, value); }
  Val ConstS64(int64_t value) { return Const(DType::kS64, value); }
  Val ConstPred(bool value) { return ConstBits(DType::kPred, value); }

  Val Unary(Op op, Val a) { return Emit(op, type(a), {a}); }
  Val Binary(Op op, Val a, Val b) { return Emit(op, type(a), {a, b}); }

  Val Add(Val a, Val b) { return Binary(Op::kAdd, a, b); }
  Val Sub(Val a, Val b) { return Binary(Op::kSub, a, b); }
  Val Mul(Val a, Val b) { return Binary(Op::kMul, a, b); }
  Val Div(Val a, Val b) { return Binary(Op::kDiv, a, b); }
  Val Rem(Val a, Val b) { return Binary(Op::kRem, a, b); }
  Val Fma(Val a, Val b, Val c) { return Emit(Op::kFma, type(a), {a, b, c}); }
  Val ExactFma(Val a, Val b, Val c) { return Emit(Op::kFma, type(a), {a, b, c}, kExactProduct); }
  Val Min(Val a, Val b) { return Binary(Op::kMin, a, b); }
  Val Max(Val a, Val b) { return Binary(Op::kMax, a, b); }
  Val Neg(Val a) { return Unary(Op::kNeg, a); }
  Val Abs(Val a) { return Unary(Op::kAbs, a); }
  Val Sign(Val a) { return Unary(Op::kSign, a); }
  Val Sqrt(Val a) { return Unary(Op::kSqrt, a); }
  Val Floor(Val a) { return Unary(Op::kFloor, a); }
  Val Ceil(Val a) { return Unary(Op::kCeil, a); }
  Val RoundEven(Val a) { return Unary(Op::kRoundEven, a); }
  Val RoundAway(Val a) { return Unary(Op::kRoundAway, a); }
  Val Trunc(Val a) { return Unary(Op::kTrunc, a); }
  Val And(Val a, Val b) { return Binary(Op::kAnd, a, b); }
  Val Or(Val a, Val b) { return Binary(Op::kOr, a, b); }
  Val Xor(Val a, Val b) { return Binary(Op::kXor, a, b); }
  Val Not(Val a) { return Unary(Op::kNot, a); }
  Val Shl(Val a, Val b) { return Binary(Op::kShl, a, b); }
  Val ShrLogical(Val a, Val b) { return Binary(Op::kShrLogical, a, b); }
  Val ShrArith(Val a, Val b) { return Binary(Op::kShrArith, a, b); }
  Val Clz(Val a) { return Unary(Op::kClz, a); }
  Val Popcnt(Val a) { return Unary(Op::kPopcnt, a); }
  Val Compare(Cmp how, Val a, Val b, bool total_order = false) {
    return Emit(Op::kCompare, DType::kPred, {a, b}, static_cast<uint8_t>(how | (total_order ? kTotalOrder : 0)));
  }
  Val Select(Val pred, Val when_true, Val when_false) {
    return Emit(Op::kSelect, type(when_true), {pred, when_true, when_false});
  }
  /// A select whose predicate is rarely true: see kSelect.
  Val SelectRare(Val pred, Val when_true, Val when_false) {
    return Emit(Op::kSelect, type(when_true), {pred, when_true, when_false}, 1);
  }
  /// `a` itself when it has that type already.
  Val Convert(DType to, Val a) { return type(a) == to ? a : Emit(Op::kConvert, to, {a}); }
  Val Bitcast(DType to, Val a) { return type(a) == to ? a : Emit(Op::kBitcast, to, {a}); }
  Val ReducePrecision(Val a, int exponent_bits, int mantissa_bits) {
    return Emit(Op::kReducePrecision, type(a), {a}, 0, static_cast<uint32_t>(exponent_bits << 8 | mantissa_bits));
  }
  Val IsFinite(Val a) { return Emit(Op::kIsFinite, DType::kPred, {a}); }

  /// FindMath(function, ...) applied to arguments of one type; float types narrower than f32 are converted around the
  /// f32 function. NOT_FOUND when there is no such function.
  Result<Val> Math(std::string_view function, std::initializer_list<Val> arguments);
  /// The same for a function that is known to exist.
  Val MathOrDie(std::string_view function, std::initializer_list<Val> arguments);

  /// Writes the nodes of `graph` here, with `arguments` in place of its arguments; its results.
  SmallVector<Val, 2> Inline(const Graph& graph, std::initializer_list<Val> arguments);
  SmallVector<Val, 2> Inline(const Graph& graph, const SmallVector<Val, 4>& arguments);

 protected:
  NodeBuilder() = default;
  ~NodeBuilder() = default;
  /// Where nodes and literals go. Called once, by the constructor of the owner of both.
  void WriteTo(std::vector<Node>* nodes, std::vector<uint64_t>* literals) {
    nodes_ = nodes;
    literals_ = literals;
  }
  void Forget() {
    known_.clear();
    literal_index_.clear();
  }

 private:
  std::vector<Node>* nodes_ = nullptr;
  std::vector<uint64_t>* literals_ = nullptr;
  std::unordered_multimap<uint64_t, Val> known_;  // by hash of the node
  std::unordered_map<uint64_t, uint32_t> literal_index_;
};

/// Makes a Graph: arguments in order, then nodes, then Finish.
class GraphBuilder : public NodeBuilder {
 public:
  GraphBuilder() { WriteTo(&graph_.nodes, &graph_.literals); }
  /// Declares all argument types at once; Argument(i) then names them.
  explicit GraphBuilder(const std::vector<DType>& arguments) : GraphBuilder() { graph_.arguments = arguments; }
  Val AddArgument(DType type) {
    graph_.arguments.push_back(type);
    return Argument(graph_.arguments.size() - 1);
  }
  Val Argument(size_t i) { return Emit(Op::kArgument, graph_.arguments[i], {}, static_cast<uint8_t>(i)); }
  /// Leaves the builder unusable.
  Graph Finish(std::initializer_list<Val> results);
  Graph Finish(const SmallVector<Val, 2>& results);

 private:
  Graph graph_;
};

/// (accumulator, element) -> op(accumulator, element): the combiner of a sum, product, minimum, maximum, and, or, xor.
Graph BinaryGraph(Op op, DType type);

/// An axis that follows one dim: coef*dim + offset.
Axis At(DimId dim, Size coef = Size::Of(1), Size offset = Size::Of(0));
/// An axis at a fixed place, or at the value of a node.
Axis AtOffset(Size offset);
Axis AtStart(Val start, Size offset = Size::Of(0));

/// Makes a Kernel. `kernel()` is open to be written directly; only nodes, literals, reads and graphs should be added
/// through the builder, which shares equal ones.
class KernelBuilder : public NodeBuilder {
 public:
  KernelBuilder() { WriteTo(&kernel_.nodes, &kernel_.literals); }

  Kernel& kernel() { return kernel_; }

  DimId AddDim(Size extent, DimKind kind = DimKind::kParallel);
  /// The next free slot of the parameter block.
  int32_t AddParam() { return kernel_.num_params++; }
  Buf AddBuffer(BufKind kind, DType type, SmallVector<Size, 4> extent, SmallVector<Size, 4> stride);
  /// Row-major and dense; extents must be baked.
  Buf AddDense(BufKind kind, DType type, std::initializer_list<int64_t> extent);

  Val Index(DimId dim) { return Emit(Op::kIndex, DType::kS64, {}, 0, dim); }
  Val Param(int32_t slot) { return Emit(Op::kParam, DType::kS64, {}, 0, static_cast<uint32_t>(slot)); }
  /// The value of a Read; the type is the buffer's, or its real part's for complex buffers.
  Val Read(const kir::Read& read, int component = 0);
  Val Read(Buf buf, SmallVector<Axis, 4> at, int component = 0);

  /// Index of `graph` in Kernel::graphs.
  uint32_t AddGraph(const Graph& graph);

  /// A fresh id for a Reduce or a Loop.
  uint32_t NewId() { return next_id_++; }
  /// Result `i` of a Reduce, carry `i` of a Loop.
  Val Reduced(uint32_t id, size_t i, DType type) { return Emit(Op::kReduced, type, {}, static_cast<uint8_t>(i), id); }
  Val Carried(uint32_t id, size_t i, DType type) { return Emit(Op::kCarried, type, {}, static_cast<uint8_t>(i), id); }
  /// A single-value reduction over `dims` by a binary op, added to `stage`; its kReduced node.
  Val AddReduce(Stage& stage, DimMask dims, Op op, Val in, Val init, ReduceOrder order = ReduceOrder::kSequential,
                Val identity = kNone);

  /// What is made from now on is not shared with anything before.
  void Forget() {
    NodeBuilder::Forget();
    known_reads_.clear();
  }

  void AddStage(Stage stage) { kernel_.seq.push_back(Step{std::move(stage)}); }
  void AddLoop(Loop loop) { kernel_.seq.push_back(Step{std::move(loop)}); }

  /// The kernel, unverified. Leaves the builder unusable.
  Kernel Finish() { return std::move(kernel_); }

 private:
  Kernel kernel_;
  uint32_t next_id_ = 0;
  std::unordered_multimap<uint64_t, uint32_t> known_reads_;  // By hash, then compared.
};

}  // namespace tenon::kir
