#pragma once

/// The compiler's own graph of a program: what import writes, simplify rewrites and fuse reads. One table of nodes with
/// plain-data attributes; values are (node, result) pairs, so rewriting is writing a new table. It names no MLIR type
/// but opaque pointers to the op that a node came from: for nodes that travel whole (custom calls, ops without a form
/// here), and to say where in the client's sources it was written.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tenon/base/hash.h"
#include "tenon/base/shape.h"
#include "tenon/base/small_vector.h"
#include "tenon/compiler/ir/attrs.h"
#include "tenon/target/target.h"

namespace mlir {
class Operation;
}

namespace tenon::compiler {

enum class OpKind : uint8_t { kLeaf, kElementwise, kView, kStructured };

enum class OpCode : uint8_t {
#define TENON_IR_OP(enumerator, name, kind, attributes) enumerator,
#include "tenon/compiler/ir/ops.def"
#undef TENON_IR_OP
};
std::string_view OpName(OpCode op);
OpKind KindOfOp(OpCode op);
/// Whether these are the attributes that ops.def gives the op.
bool FitsOp(OpCode op, const Attributes& attributes);

using NodeId = uint32_t;
inline constexpr NodeId kNoNode = ~0u;

/// Result `result` of a node.
struct Ref {
  NodeId node = kNoNode;
  uint32_t result = 0;
  bool valid() const { return node != kNoNode; }
  friend bool operator==(const Ref&, const Ref&) = default;
  friend auto operator<=>(const Ref&, const Ref&) = default;
};
struct RefHasher {
  size_t operator()(const Ref& r) const { return r.node * 0x9e3779b97f4a7c15u + r.result; }
};

/// Elements of a constant: all of them, row-major, ByteWidth each; or one, when all are equal.
struct Literal {
  std::shared_ptr<const std::string> bytes;
  bool splat = false;
  Hash128 hash;  ///< Of bytes.
  /// By value: the hash only spares most comparisons.
  friend bool operator==(const Literal& a, const Literal& b) {
    return a.splat == b.splat && a.hash == b.hash &&
           (a.bytes == b.bytes || (a.bytes && b.bytes && *a.bytes == *b.bytes));
  }
};

/// A list of nodes in an order that respects their operands, and what it yields. Nodes of enclosing blocks may be used
/// freely.
struct Block {
  std::vector<NodeId> args;  ///< kParameter nodes.
  std::vector<NodeId> nodes;
  std::vector<Ref> results;
};

struct GraphNode {
  OpCode op = OpCode::kOpaque;
  SmallVector<Ref, 3> in;
  SmallVector<Shape, 1> out;  ///< kToken dtype for tokens.
  Attributes attributes;      ///< Those that ops.def gives the op.
  bool side_effect = false;   ///< Must stay, in order.
  std::string name;
  Literal literal;
  std::vector<Block> blocks;
  mlir::Operation* origin = nullptr;  ///< What it still is, unchanged.
  mlir::Operation* source = nullptr;  ///< What it is made of, or for; for people.
  std::vector<const void*> captures;  ///< kOpaque: the mlir values behind the operands that follow the op's own.

  const Shape& shape(uint32_t i = 0) const { return out[i]; }
  /// The attributes, which must be of that type. References hold until the node is written to, or moved.
  template <class T>
  const T& attrs() const {
    return attributes.as<T>();
  }
  template <class T>
  T& attrs() {
    return attributes.as<T>();
  }
};

struct ParameterInfo {
  std::string memory_kind;
  std::string layout_mode;  ///< "default", "auto", "{0,1}" or empty.
  int32_t aliasing_output = -1;
  bool donor = false;
};
struct ResultInfo {
  std::string memory_kind;
  std::string layout_mode;
};

/// A whole program. References to nodes stay valid while nodes are added.
struct Program {
  /// What it is compiled for; never null.
  std::shared_ptr<const target::Target> target = target::StandardTarget();
  std::string name;
  std::deque<GraphNode> nodes;
  Block main;
  std::vector<ParameterInfo> parameters;
  std::vector<ResultInfo> results;

  NodeId Add(GraphNode node) {
    nodes.push_back(std::move(node));
    return static_cast<NodeId>(nodes.size() - 1);
  }
  GraphNode& operator[](NodeId id) { return nodes[id]; }
  const GraphNode& operator[](NodeId id) const { return nodes[id]; }
  const Shape& shape(Ref r) const { return nodes[r.node].out[r.result]; }
};

/// The same node, or the same block, anew: nodes stand in one block each, so a node's copy has copies of its blocks.
/// What they use is what `copies` says, or stays; what is copied is added to that.
NodeId CopyOf(Program& program, NodeId id, std::unordered_map<NodeId, NodeId>& copies);
Block CopyOf(Program& program, const Block& block, std::unordered_map<NodeId, NodeId>& copies);

Literal MakeLiteral(std::string bytes, bool splat);
/// One value of a type, given by its significant bits as in KIR's literals; of types of more than 64 bits the first
/// ones, and zeros behind them.
Literal SplatLiteral(DType type, uint64_t bits);
/// The significant bits of the element at `memory`, zero-extended: what KIR's literals hold. Types narrower than a byte
/// take a whole one in memory, sign-extended when they have a sign. At most 8 bytes.
uint64_t ElementBits(DType type, const char* memory);
/// The bits of the one value that all elements of `r` have: a splat constant, or a broadcast or reshape of one.
/// Significant bits, zero-extended.
std::optional<uint64_t> SplatBits(const Program& program, Ref r);
/// Whether the value is zero, of either sign, everywhere.
bool IsZero(const Program& program, Ref r);

/// Nodes of the block and of the blocks inside it. Stops counting beyond `limit`, so that asking costs no more than
/// what is asked about.
int64_t CountOps(const Program& program, const Block& block, int64_t limit = INT64_MAX);

/// "add %1, %2 : f32[4]": op, operands, attributes, types.
std::string PrintNode(const Program& program, const GraphNode& node);
/// "%3 = add %1, %2 : f32[4]".
std::string PrintValue(const Program& program, Ref r);
/// A StableHLO-like listing for people; there is no parser.
std::string Print(const Program& program);

}  // namespace tenon::compiler
