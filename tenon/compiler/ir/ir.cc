#include "tenon/compiler/ir/ir.h"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>
#include <iterator>

namespace tenon::compiler {

std::string_view OpName(OpCode op) {
  static constexpr std::string_view kNames[] = {
#define TENON_IR_OP(enumerator, name, kind, attributes) name,
#include "tenon/compiler/ir/ops.def"
#undef TENON_IR_OP
  };
  return kNames[static_cast<size_t>(op)];
}

OpKind KindOfOp(OpCode op) {
  static constexpr OpKind kKinds[] = {
#define TENON_IR_OP(enumerator, name, kind, attributes) OpKind::kind,
#include "tenon/compiler/ir/ops.def"
#undef TENON_IR_OP
  };
  return kKinds[static_cast<size_t>(op)];
}

bool FitsOp(OpCode op, const Attributes& attributes) {
  switch (op) {
#define TENON_IR_OP(enumerator, name, kind, type) \
  case OpCode::enumerator:                        \
    return attributes.is<type>();
#include "tenon/compiler/ir/ops.def"
#undef TENON_IR_OP
  }
  return false;
}

NodeId CopyOf(Program& program, NodeId id, std::unordered_map<NodeId, NodeId>& copies) {
  GraphNode node = program[id];
  for (Ref& r : node.in) {
    if (const auto it = copies.find(r.node); it != copies.end()) r.node = it->second;
  }
  for (Block& inner : node.blocks) inner = CopyOf(program, inner, copies);
  return copies[id] = program.Add(std::move(node));
}

Block CopyOf(Program& program, const Block& block, std::unordered_map<NodeId, NodeId>& copies) {
  Block copy;
  for (NodeId id : block.args) copy.args.push_back(CopyOf(program, id, copies));
  for (NodeId id : block.nodes) copy.nodes.push_back(CopyOf(program, id, copies));
  for (Ref r : block.results) {
    const auto it = copies.find(r.node);
    copy.results.push_back(it == copies.end() ? r : Ref{it->second, r.result});
  }
  return copy;
}

Literal MakeLiteral(std::string bytes, bool splat) {
  const XXH128_hash_t h = XXH3_128bits(bytes.data(), bytes.size());
  return {std::make_shared<const std::string>(std::move(bytes)), splat, Hash128{h.low64, h.high64}};
}

Literal SplatLiteral(DType type, uint64_t bits) {
  const int width = DTypeBits(type);
  // structural: bits of a byte
  if (IsSigned(type) && width < 8 && (bits >> (width - 1) & 1) != 0) bits |= ~uint64_t{0} << width;
  // Of complex types the bits are those of the real part, which may be all that there is room for.
  std::string bytes(static_cast<size_t>(ByteWidth(type)), '\0');
  std::memcpy(bytes.data(), &bits, std::min(sizeof(bits), bytes.size()));
  return MakeLiteral(std::move(bytes), true);
}

uint64_t ElementBits(DType type, const char* memory) {
  uint64_t bits = 0;
  std::memcpy(&bits, memory, static_cast<size_t>(ByteWidth(type)));
  const int width = DTypeBits(type);
  // structural: bits of a byte
  return width < 8 ? bits & ((uint64_t{1} << width) - 1) : bits;
}

bool IsZero(const Program& program, Ref r) {
  const DType type = program.shape(r).dtype;
  const std::optional<uint64_t> bits = SplatBits(program, r);
  return bits && (*bits == 0 || (IsFloat(type) && *bits == uint64_t{1} << (DTypeBits(type) - 1)));
}

std::optional<uint64_t> SplatBits(const Program& program, Ref r) {
  const GraphNode* node = &program[r.node];
  while (node->op == OpCode::kBroadcast || node->op == OpCode::kReshape || node->op == OpCode::kTranspose)
    node = &program[node->in[0].node];
  if (node->op != OpCode::kConstant) return std::nullopt;
  const size_t width = static_cast<size_t>(ByteWidth(node->shape().dtype));
  const std::string& bytes = *node->literal.bytes;
  if (width == 0 || width > 8 || (bytes.size() != width)) return std::nullopt;  // structural: bytes of a word
  return ElementBits(node->shape().dtype, bytes.data());
}

int64_t CountOps(const Program& program, const Block& block, int64_t limit) {
  int64_t count = 0;
  for (NodeId id : block.nodes) {
    if (++count > limit) break;
    for (const Block& inner : program[id].blocks) count += CountOps(program, inner, limit - count);
  }
  return count;
}

namespace {

std::string Name(const Program& program, Ref r) {
  return program[r.node].out.size() > 1 ? fmt::format("%{}#{}", r.node, r.result) : fmt::format("%{}", r.node);
}

}  // namespace

std::string PrintNode(const Program& program, const GraphNode& node) {
  std::string text(OpName(node.op));
  if (!node.name.empty()) text += fmt::format(" @{}", node.name);
  for (size_t i = 0; i < node.in.size(); ++i) text += (i ? ", " : " ") + Name(program, node.in[i]);
  text += ToString(node.attributes);
  if (node.op == OpCode::kConstant) {
    text += node.literal.splat ? " splat 0x" : " 0x";
    const std::string& bytes = *node.literal.bytes;
    // structural: of the listing
    for (size_t i = 0; i < bytes.size() && i < 32; ++i) text += fmt::format("{:02x}", static_cast<uint8_t>(bytes[i]));
    if (bytes.size() > 32)  // structural: of the listing
      text += fmt::format("... {} bytes {:016x}{:016x}", bytes.size(), node.literal.hash.high, node.literal.hash.low);
  }
  text += " :";
  for (const Shape& shape : node.out) text += " " + ToString(shape);
  return text;
}

std::string PrintValue(const Program& program, Ref r) {
  return Name(program, r) + " = " + PrintNode(program, program[r.node]);
}

namespace {

void PrintBlock(const Program& program, const Block& block, int depth, std::string& text) {
  const std::string indent(static_cast<size_t>(2 * depth), ' ');
  for (NodeId id : block.args)
    text += fmt::format("{}%{} = parameter : {}\n", indent, id, ToString(program[id].shape()));
  for (NodeId id : block.nodes) {
    const GraphNode& node = program[id];
    text += fmt::format("{}%{} = {}\n", indent, id, PrintNode(program, node));
    for (const Block& inner : node.blocks) {
      text += indent + "{\n";
      PrintBlock(program, inner, depth + 1, text);
      text += indent + "}\n";
    }
  }
  text += indent + "return";
  for (size_t i = 0; i < block.results.size(); ++i) text += (i ? ", " : " ") + Name(program, block.results[i]);
  text += '\n';
}

}  // namespace

std::string Print(const Program& program) {
  std::string text = fmt::format("program @{}\n", program.name);
  PrintBlock(program, program.main, 1, text);
  return text;
}

}  // namespace tenon::compiler
